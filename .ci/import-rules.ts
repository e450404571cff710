// Checks every module of the project against `.dependency-cruiser.mjs`. Proves on a made-up project that the rules report
// violations, and that the cruise sees every module and import: a cruiser without its parser would pass everything.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import readOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const CONFIG = join(import.meta.dirname, '..', '.dependency-cruiser.mjs');
const root = dirname(CONFIG);
const { FOLDERS, PORTS, BESIDES_PORTS } = (await import(pathToFileURL(CONFIG).href)) as {
  FOLDERS: Record<string, readonly string[] | 'any'>;
  PORTS: Record<string, string>;
  BESIDES_PORTS: Record<string, readonly string[]>;
};
const options: ICruiseOptions = await readOptions(CONFIG);

const comments = new Map(options.ruleSet?.forbidden?.map((rule) => [rule.name, rule.comment]));

/** A statement that the cruiser's own walker does not visit. */
const USING = 'export async function hold(leaf: AsyncDisposable) {\n  await using held = leaf;\n  return held;\n}\n';
const probe = (folder: string, target: string) =>
  `import type { Leaf } from '${relative(folder, target).replace(/^(?!\.)/, './')}';\n${USING}export type Held = Leaf;\n`;
const isFile = (entry: string) => entry.endsWith('.ts');

const problems = [...(await selfCheck()), ...(await checkProject())];
for (const problem of problems) console.error(problem);
console.log(`import rules: ${problems.length === 0 ? 'all kept' : `${problems.length} broken`}`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function cruiseModules(files: readonly string[], baseDir: string): Promise<ICruiseResult> {
  const { output } = await cruise([...files], { ...options, baseDir });
  if (typeof output === 'string') throw new Error('a cruise without a reporter answers with an object');
  return output;
}

async function checkProject(): Promise<string[]> {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    // They import what .ci/clients.ts generates, and the packages of n8n.
    .filter((file) => !/^(?:test\/clients\/programs|clients\/n8n)\//.test(file))
    .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && existsSync(join(root, file)));
  const { modules, summary } = await cruiseModules(files, root);
  const by_source = new Map(modules.map((module) => [module.source, module]));
  console.log(`import rules: ${files.length} modules, ${summary.totalDependenciesCruised} imports`);

  const unruled = files.filter((file) => file.includes('/') && FOLDERS[file.split('/')[0]!] === undefined);
  const unseen = files.flatMap((file) => {
    const seen = new Set(by_source.get(file)?.dependencies.map((dependency) => dependency.module));
    if (!by_source.has(file)) return [`${file}: not seen by the cruise`];
    return importsWritten(file)
      .filter((specifier) => !seen.has(specifier))
      .map((specifier) => `${file}: the cruise does not see its import of '${specifier}' (write \`import type\`)`);
  });
  return [
    ...unruled.map((file) => `${file}: no rule for its folder in .dependency-cruiser.mjs`),
    ...unseen,
    ...summary.violations.map(({ rule, from, to, cycle }) => {
      const path = cycle?.map((step) => step.name).join(' → ') ?? to;
      return `${from} → ${path}: ${comments.get(rule.name)} (${rule.name})`;
    }),
  ];
}

/** The relative specifiers in the text of a shipped module, found without a parser. */
function importsWritten(file: string): string[] {
  if (FOLDERS[file.split('/')[0]!] === 'any') return []; // tests may hold imports in strings
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)].map((found) => found[1]!);
}

/** Cruises a made-up project that breaks every rule in every way, and also has allowed imports. */
async function selfCheck(): Promise<string[]> {
  const made_up = mkdtempSync(join(tmpdir(), 'import-rules-'));
  try {
    const { files, forbidden } = madeUpProject();
    for (const [file, text] of files) {
      mkdirSync(dirname(join(made_up, file)), { recursive: true });
      writeFileSync(join(made_up, file), text);
    }
    const modules = [...files.keys()].filter((file) => file.endsWith('.ts'));
    const { summary } = await cruiseModules(modules, made_up);
    const found = new Set(summary.violations.map(({ from, to }) => `${from} → ${to}`));
    return [
      ...[...forbidden.difference(found)].map((broken) => `self-check: not reported: ${broken}`),
      ...[...found.difference(forbidden)].map((kept) => `self-check: reported, but allowed: ${kept}`),
    ];
  } finally {
    rmSync(made_up, { recursive: true });
  }
}

/** The made-up project's files, and the imports that the rules must report, as `from → to`. */
function madeUpProject(): { files: Map<string, string>; forbidden: Set<string> } {
  const files = new Map<string, string>();
  const forbidden = new Set<string>();
  const for_developers = ['test', 'bench', '.ci'];
  const folders = Object.keys(FOLDERS).flatMap((folder) =>
    folder === 'adapters' ? [...Object.keys(PORTS), 'mail'].map((port) => `adapters/${port}`) : [folder],
  );
  const named = Object.values(FOLDERS).flatMap((entries) => (entries === 'any' ? [] : entries.filter(isFile)));
  const targets = new Set([
    ...folders.map((folder) => `${folder}/leaf.ts`),
    ...named,
    ...Object.values(PORTS),
    ...Object.values(BESIDES_PORTS).flat(),
    'processes/mail.ts',
    'main.ts',
  ]);
  for (const target of targets) files.set(target, 'export interface Leaf extends AsyncDisposable {}\n');

  for (const folder of folders) {
    const may_import = FOLDERS[folder.split('/')[0]!]!;
    for (const target of targets) {
      const target_folder = folders.find((other) => target.startsWith(`${other}/`)) ?? '';
      const from = `${folder}/imports-${target.replaceAll('/', '-')}`;
      files.set(from, probe(folder, target));
      const allowed =
        target_folder === folder ||
        for_developers.includes(folder) ||
        (may_import === 'any' && !for_developers.includes(target_folder)) ||
        may_import.includes(target_folder) ||
        may_import.includes(target) ||
        PORTS[folder.replace('adapters/', '')] === target ||
        BESIDES_PORTS[folder.replace('adapters/', '')]?.includes(target) ||
        (folder === 'adapters/mail' && target === 'processes/mail.ts');
      if (!allowed) forbidden.add(`${from} → ${target}`);
    }
  }

  const cases: [file: string, text: string, to: string][] = [
    ['events/one.ts', "import type { Other } from './other.ts';\nexport type One = Other;\n", 'events/other.ts'],
    ['events/lazy.ts', USING.replace('= leaf', "= (await import('../commands/leaf.ts')) as never"), 'commands/leaf.ts'],
    ['events/again.ts', "export * from '../commands/leaf.ts';\n", 'commands/leaf.ts'],
    ['events/missing.ts', "import './nowhere.ts';\n", './nowhere.ts'],
    ['events/development.ts', "import 'for-developers';\n", 'node_modules/for-developers/index.js'],
    ['events/unnamed.ts', "import 'unnamed';\n", 'node_modules/unnamed/index.js'],
  ];
  for (const [file, text, to] of cases) {
    files.set(file, text);
    forbidden.add(`${file} → ${to}`);
  }
  files.set('events/other.ts', "import type { One } from './one.ts';\nexport type Other = One;\n");
  files.set('events/allowed.ts', "import 'shipped';\nimport 'node:fs';\n");
  files.set('test/development.ts', "import 'for-developers';\n");
  files.set(
    'package.json',
    JSON.stringify({ dependencies: { shipped: '1' }, devDependencies: { 'for-developers': '1' } }),
  );
  for (const name of ['shipped', 'for-developers', 'unnamed']) {
    files.set(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' }));
    files.set(`node_modules/${name}/index.js`, '');
  }
  return { files, forbidden };
}
