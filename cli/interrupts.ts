// What Ctrl-C and other signals do to a command: the first one ends its work in good order, the second one the process.

/** The exit codes of shells for programs that these signals end. */
const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** npm and `timeout` send their child a signal that it has from the terminal already: within this time it is the same one. */
const SAME_MS = 500;

type Signals = Pick<NodeJS.Process, 'on' | 'exit'>;

export interface Interrupts {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** The exit code of the signal that came. */
  readonly code: number;
}

export function onInterrupts(of: Signals = process, now = () => performance.now()): Interrupts {
  const interrupted = new AbortController();
  let code_of_first: number = CODES.SIGINT;
  let first_at = Number.NEGATIVE_INFINITY;
  for (const [name, code] of Object.entries(CODES) as [keyof typeof CODES, number][]) {
    of.on(name, () => {
      if (interrupted.signal.aborted) {
        if (now() - first_at > SAME_MS) of.exit(code);
        return;
      }
      code_of_first = code;
      first_at = now();
      interrupted.abort();
    });
  }
  return {
    signal: interrupted.signal,
    get code() {
      return code_of_first;
    },
  };
}

/** Ends the process at the first signal by its code, so that its handlers of `exit` remove what it has begun to write. */
export function exitAtInterrupts(): void {
  const interrupts = onInterrupts();
  interrupts.signal.addEventListener('abort', () => process.exit(interrupts.code));
}
