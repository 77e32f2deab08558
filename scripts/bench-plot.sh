#!/usr/bin/env bash
# Usage: bench-plot.sh RESULTS.TSV DIR
# Draw the figures of 'make bench': DIR/FAMILY-ARCH.svg for each family that is
# there; cost against N where a family has an N, bars for the rest.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: bench-plot.sh RESULTS.TSV DIR"
tsv=$1 dir=$2

# points ARCH KERNEL PATTERN: 'N value' of the cases whose names match; N is the
# group of the pattern.
points() {
	awk -F'\t' -v arch="$1" -v kernel="$2" -v pattern="$3" '
		$1 == arch && $3 == kernel && match($2, pattern) {
			split($2, part, "[/-]"); print part[2], $4
		}' "$tsv"
}

# bars ARCH PATTERN: 'name base patched'.
bars() {
	awk -F'\t' -v arch="$1" -v pattern="$2" '
		$1 == arch && $2 ~ pattern {
			if (!($2 in base)) order[++n] = $2
			if ($3 == "base") base[$2] = $4; else patched[$2] = $4
		}
		END { for (i = 1; i <= n; i++) print order[i], base[order[i]] + 0, patched[order[i]] + 0 }' "$tsv"
}

# draw FILE TITLE: run gnuplot on stdin.
draw() {
	{
		# A fixed name, so that the same figures give the same bytes.
		echo "set terminal svg size 760,460 name 'bench' font 'sans-serif,13' background '#ffffff'"
		echo "set output '$1'"
		echo "set title \"$2\" noenhanced"
		echo "set grid ytics lc rgb '#dddddd'"
		echo "set key outside bottom center horizontal noenhanced"
		echo "set ylabel 'instructions (virtual ns)'"
		echo "set yrange [0:*]"
		cat
	} | gnuplot || die "gnuplot failed on $1"
}

# lines FILE TITLE XLABEL ARCH (NAME PATTERN)...: both kernels, for each pattern.
lines() {
	local file=$1 title=$2 xlabel=$3 arch=$4 data plots='' style kernel nr=0
	data=$(mktemp -d)
	shift 4
	while [ $# -gt 0 ]; do
		for kernel in base patched; do
			points "$arch" $kernel "$2" >"$data/$nr-$kernel"
			[ -s "$data/$nr-$kernel" ] || continue
			[ $kernel = base ] && style="dt 2" || style="dt 1"
			plots+="${plots:+, }'$data/$nr-$kernel' with linespoints lw 2 pt $((nr + 5)) ps 0.6 lc $((nr + 1)) $style title '$kernel, $1'"
		done
		nr=$((nr + 1))
		shift 2
	done
	[ -z "$plots" ] || printf "set xlabel '%s'\nplot %s\n" "$xlabel" "$plots" | draw "$file" "$title"
	rm -rf "$data"
}

# boxes FILE TITLE ARCH PATTERN.
boxes() {
	local data
	data=$(mktemp)
	bars "$3" "$4" >"$data"
	[ ! -s "$data" ] || draw "$1" "$2" <<-GNUPLOT
		set style data histogram
		set style histogram clustered gap 1
		set style fill solid 0.8 noborder
		set xtics rotate by 35 right noenhanced
		plot '$data' using 2:xtic(1) title 'base' lc rgb '#999999', '' using 3 title 'patched' lc rgb '#1f77b4'
	GNUPLOT
	rm -f "$data"
}

rm -f "$dir"/*.svg
for arch in $(awk -F'\t' 'NR > 1 { print $1 }' "$tsv" | sort -u); do
	case $arch in
	x86_64) event=cpu-clock ;;
	*) event=cycles ;;
	esac
	boxes "$dir/cgroup-$arch.svg" "$arch: a switch between two tasks, events on a cgroup" "$arch" '^cgroup/'
	lines "$dir/fork-$arch.svg" "$arch: fork, exit and wait with N inherited events" N "$arch" \
		"$event" '^fork/[0-9]+$' "mock PMU" '^fork/[0-9]+-mock$'
	boxes "$dir/inherit-$arch.svg" "$arch: groups, paused events, threads" "$arch" '^(fork/[a-z]|thread/)'
	lines "$dir/groups-$arch.svg" "$arch: a switch with N groups of five events" N "$arch" \
		"$event" '^groups/[0-9]+$' "$event, mmapped" '^groups/[0-9]+-mmap$' \
		"mock PMU" '^groups/[0-9]+-mock$' "mock PMU, mmapped" '^groups/[0-9]+-mmap-mock$'
	boxes "$dir/clock-$arch.svg" "$arch: a switch, by the way it comes about" "$arch" '^clock/'
done
