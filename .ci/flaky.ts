// Decides what a second run of the files that failed says of the first run.
import type { TestRun } from './tap.ts';
import { fileFinder } from './test-files.ts';

/** More files than this are no accident: none of them is run again. */
export const MAX_FLAKY_FILES = 3;

export interface Verdict {
  passed: number;
  failed: number;
  /** The files that failed and passed alone. */
  flaky_files: string[];
  /** A line for each test that failed once or twice, with the details of the first failure where it is flaky. */
  lines: string[];
  /** What failed for good, with its details. */
  failures: string[];
}

/**
 * Runs the files of `first` that failed once more, each by `runAlone`. A file is flaky when its second run fails nowhere and
 * passes each test that failed: the tests of that run count in place of those of the first.
 */
export function rerun(first: TestRun, files: readonly string[], runAlone: (file: string) => TestRun): Verdict {
  const fileOf = finder(first, files);
  const failed_files = new Map<string | null, string[]>(first.cut_short.map((file) => [file, []]));
  for (const title of first.failures) {
    const file = fileOf(title)?.file ?? null;
    failed_files.set(file, [...(failed_files.get(file) ?? []), title]);
  }
  const told = (title: string): string[] => first.details[title] ?? [];
  const unexplained = [
    ...first.problems,
    ...(failed_files.get(null) ?? []).map((title) => `no test file is known to hold: ${title}`),
    ...(failed_files.size > MAX_FLAKY_FILES
      ? [`tests of ${failed_files.size} files failed: over ${MAX_FLAKY_FILES} are not run again`]
      : []),
  ];
  if (unexplained.length > 0 || failed_files.size === 0) {
    const failures = first.failures.flatMap((title) => [`failed: ${title}`, ...told(title)]);
    const lines = unexplained.map((problem) => `failed: ${problem}`);
    return {
      passed: first.passed,
      failed: Math.max(1, first.failed),
      flaky_files: [],
      lines,
      failures: [...failures, ...lines],
    };
  }

  const verdict: Verdict = { passed: first.passed, failed: 0, flaky_files: [], lines: [], failures: [] };
  for (const [file, titles] of failed_files as Map<string, string[]>) {
    const again = runAlone(file);
    const passed_again = new Set(again.tests.filter(({ outcome }) => outcome === 'passed').map(({ title }) => title));
    // A crash is no test, so nothing of its name passes.
    const are_passed = titles.every((title) => isCrash(files, title) || passed_again.has(fileOf(title)!.title));
    if (again.failed === 0 && are_passed) {
      const before = first.tests.filter(({ title, outcome }) => outcome === 'passed' && fileOf(title)?.file === file);
      verdict.passed += again.passed - before.length;
      verdict.flaky_files.push(file);
      const counts = `${file}: ${before.length} passed, ${titles.length} failed; alone ${again.passed} passed, 0 failed`;
      for (const title of titles)
        verdict.lines.push(`flaky: ${title} failed once and passed alone (${counts})`, ...told(title));
      if (titles.length === 0) verdict.lines.push(`flaky: ${file} ended early once and passed alone (${counts})`);
    } else {
      verdict.failed += Math.max(1, titles.length);
      for (const title of titles.length > 0 ? titles : [file]) {
        const twice = `failed: ${title} failed twice, the second time alone`;
        verdict.lines.push(twice);
        verdict.failures.push(twice, ...told(title));
      }
      for (const [title, lines] of Object.entries(again.details)) verdict.failures.push(`alone: ${title}`, ...lines);
    }
  }
  return verdict;
}

const PATH = /\btest\/[\w./-]+\.test\.ts\b/;

/** The file of a test by its title's prefix, or of a crash by the path that its title or its stack names, or by the one file that noted it. */
function finder(first: TestRun, files: readonly string[]) {
  const byPrefix = fileFinder(files);
  return (title: string): { file: string; title: string } | null => {
    const found = byPrefix(title);
    if (found !== null) return found;
    const named = PATH.exec([title, ...(first.details[title] ?? [])].join('\n'))?.[0];
    const noted = first.error_files[title];
    const file = named ?? (noted?.length === 1 ? noted[0] : undefined);
    return file !== undefined && files.includes(file) ? { file, title } : null;
  };
}

function isCrash(files: readonly string[], title: string): boolean {
  return fileFinder(files)(title) === null;
}
