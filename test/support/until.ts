// Waits for what a test cannot be told of, and so looks at again and again.

/** Under AVA's own limit, which would end the test and leave this loop, its services and so its process running. */
const LONGEST_WAIT_MS = 280_000;
const SHORTEST_MS = 5;
const LONGEST_MS = 250;

/**
 * Resolves when it holds, and throws when it does not within 280 s. Each pause is a fifth of the time waited so far: a look may be a
 * request, and takes the processor from what is waited for, most of all on a busy machine. `longest_ms`: the longest pause, where
 * what is waited for may pass.
 */
export async function until(holds: () => boolean | Promise<boolean>, longest_ms = LONGEST_MS): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    const waited_ms = performance.now() - begun;
    if (waited_ms > LONGEST_WAIT_MS) throw new Error(`after ${LONGEST_WAIT_MS / 1000} s it still does not hold`);
    const pause_ms = Math.min(Math.max(waited_ms / 5, SHORTEST_MS), longest_ms);
    await new Promise((resolve) => setTimeout(resolve, pause_ms));
  }
}
