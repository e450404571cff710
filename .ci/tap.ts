// Reads the TAP that AVA and the torture driver write.

export interface TestLine {
  /** As it was printed: AVA prefixes it with the path of the file where several files run. */
  title: string;
  outcome: 'passed' | 'failed' | 'skipped' | 'todo';
  /** The directive of a test that was left out, as `# SKIP`. */
  directive: string;
}

export type TapLine =
  | { kind: 'test'; test: TestLine }
  | { kind: 'total'; name: string; count: number }
  /** Tests of a file that never ended, because its process or thread did. */
  | { kind: 'remaining'; file: string }
  /** The run was stopped after this time; the totals count what it had done. */
  | { kind: 'stopped'; after: string }
  /** A line of a failure's YAML block, or of what a test logged. */
  | { kind: 'detail'; text: string; is_of_failure: boolean };

/** Reads one line after the other; null for a line that says nothing of a test. */
export function tapReader(): (line: string) => TapLine | null {
  let in_details = false;
  return (line) => {
    const test = /^(ok|not ok) \d+ - (.*?)( # (?:SKIP|TODO)\b.*)?$/.exec(line);
    if (test) {
      const [, said, title, directive = ''] = test;
      const left_out = said === 'ok' ? 'skipped' : 'todo';
      const outcome = directive !== '' ? left_out : said === 'ok' ? 'passed' : 'failed';
      return { kind: 'test', test: { title: title!, outcome, directive } };
    }
    const total = /^# (pass|fail|skip|todo|tests) (\d+)$/.exec(line);
    if (total) return { kind: 'total', name: total[1]!, count: Number(total[2]) };
    const remaining = /^# \d+ tests? remaining in (\S+)$/.exec(line);
    if (remaining) return { kind: 'remaining', file: remaining[1]! };
    const stopped = /^# stopped after (\d+ s)$/.exec(line);
    if (stopped) return { kind: 'stopped', after: stopped[1]! };
    if (/^ {2}---$/.test(line)) in_details = true;
    else if (/^ {2}\.\.\.$/.test(line)) in_details = false;
    else if (in_details || /^# {3}/.test(line)) return { kind: 'detail', text: line, is_of_failure: in_details };
    return null;
  };
}

export interface TestRun {
  tests: TestLine[];
  passed: number;
  failed: number;
  /** Titles of the tests that failed. */
  failures: string[];
  /** The lines of each failure's block, by title. */
  details: Record<string, string[]>;
  /** The files that noted an error outside of their tests, by its title. */
  error_files: Record<string, string[]>;
  /** Files with tests that never ended. */
  cut_short: string[];
  /** What is wrong with the output itself: it ended early, or names no test; or the run was stopped. */
  problems: string[];
}

export interface Marks extends Pick<TestRun, 'error_files'> {
  /** The files that ran at the end. */
  running: string[];
}

const NO_MARKS: Marks = { running: [], error_files: {} };

/**
 * Sums up a run. Output that ends early, a run without a test, totals that differ from the lines, and a run that was stopped
 * count as failures. `marks` is what the files left by `running-files.ts`.
 */
export function summaryOf(lines: Iterable<TapLine>, marks: Marks = NO_MARKS): TestRun {
  const { running, error_files } = marks;
  const tests: TestLine[] = [];
  const totals: Record<string, number> = {};
  const details: Record<string, string[]> = {};
  const cut_short: string[] = [];
  const problems: string[] = [];
  const ran = `what ran then: ${running.join(', ') || 'nothing that is known'}`;
  for (const line of lines) {
    if (line.kind === 'test') tests.push(line.test);
    else if (line.kind === 'total') totals[line.name] = line.count;
    else if (line.kind === 'remaining') cut_short.push(line.file);
    else if (line.kind === 'stopped') problems.push(`stopped after ${line.after}; ${ran}`);
    else if (line.is_of_failure && tests.length > 0) (details[tests.at(-1)!.title] ??= []).push(line.text);
  }
  const titlesOf = (outcome: TestLine['outcome']) =>
    tests.filter((test) => test.outcome === outcome).map(({ title }) => title);
  const passed = titlesOf('passed').length;
  const failures = titlesOf('failed');
  if (totals.pass === undefined) problems.push(`the output of the tests ended before its totals; ${ran}`);
  else if (totals.pass !== passed) problems.push(`${totals.pass} passed by the totals, ${passed} by the lines`);
  if (passed === 0) problems.push('no test passed');
  // Tests that never ended appear only in the total, where AVA counts them as failed.
  const failed =
    Math.max(failures.length, (totals.fail ?? 0) - titlesOf('todo').length) + (problems.length > 0 ? 1 : 0);
  return { tests, passed, failed, failures, details, error_files, cut_short, problems };
}
