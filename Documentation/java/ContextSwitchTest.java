// SPDX-License-Identifier: GPL-2.0-only
// Two threads hand a lock to and fro, and park while the other one has it.
// Usage: java ContextSwitchTest.java RUNS HAND_OVERS
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

public class ContextSwitchTest {
	static final class Worker extends Thread {
		final AtomicInteger turn;
		final int me, handOvers;
		long parks;
		Worker other;

		Worker(AtomicInteger turn, int me, int handOvers) {
			this.turn = turn;
			this.me = me;
			this.handOvers = handOvers;
		}

		@Override
		public void run() {
			for (int i = 0; i < handOvers; i++) {
				while (turn.get() != me) {
					parks++;
					LockSupport.park(this);
				}
				turn.set(1 - me);
				LockSupport.unpark(other);
			}
		}
	}

	public static void main(String[] args) throws InterruptedException {
		if (args.length != 2) {
			System.err.println("usage: java ContextSwitchTest.java RUNS HAND_OVERS");
			System.exit(1);
		}
		int runs = Integer.parseInt(args[0]), handOvers = Integer.parseInt(args[1]);

		for (int run = 0; run < runs; run++) {
			AtomicInteger turn = new AtomicInteger();
			Worker a = new Worker(turn, 0, handOvers), b = new Worker(turn, 1, handOvers);
			a.other = b;
			b.other = a;

			long start = System.nanoTime();
			a.start();
			b.start();
			a.join();
			b.join();
			long ns = System.nanoTime() - start;
			System.out.println("parks: " + a.parks + ", " + b.parks);
			System.out.println("a hand over: " + ns / handOvers / 2 + " ns, all: " + ns / 1000000 + " ms");
		}
	}
}
