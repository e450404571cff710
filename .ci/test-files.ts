// The test files of a configuration of AVA, and how AVA names their tests where several files run.
import { globSync } from 'node:fs';

/** The files that AVA runs by `config`, a file in the folder of the project, in alphabetical order. */
export async function testFilesOf(config: string): Promise<string[]> {
  const { default: settings } = (await import(`../${config}`)) as { default: { files: string[] } };
  const excluded = settings.files.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const included = settings.files.filter((pattern) => !pattern.startsWith('!'));
  return globSync(included, { exclude: excluded }).sort();
}

/**
 * Finds the file of a test by its title, and the title without its prefix. AVA prefixes a title with the path of its file from
 * the folder that all files share: `checkers › worker › a job …` is in `test/checkers/worker.test.ts`.
 */
export function fileFinder(files: readonly string[]): (title: string) => { file: string; title: string } | null {
  const folder = sharedFolder(files);
  const by_prefix = new Map(files.map((file) => [prefixOf(file.slice(folder.length)), file]));
  return (title) => {
    // The longest prefix: a test may be in `job.test.ts` or in a file of the folder `job`.
    for (let at = title.length; at > 0; at = title.lastIndexOf(SEPARATOR, at - 1)) {
      const file = by_prefix.get(title.slice(0, at));
      if (file !== undefined) return { file, title: title.slice(at + SEPARATOR.length) };
    }
    return null;
  };
}

const SEPARATOR = ' › ';

function sharedFolder(files: readonly string[]): string {
  const folders = files.map((file) => file.slice(0, file.lastIndexOf('/') + 1));
  let shared = folders[0] ?? '';
  while (!folders.every((folder) => folder.startsWith(shared))) {
    shared = shared.slice(0, shared.lastIndexOf('/', shared.length - 2) + 1);
  }
  return shared;
}

/** As `lib/reporters/prefix-title.js` of AVA makes it. */
function prefixOf(path: string): string {
  const parts = path.split('/');
  const name = parts.pop()!.replace('.test.', '.').replace('test-', '').replace(/\.ts$/, '');
  return [...parts, name].join(SEPARATOR);
}
