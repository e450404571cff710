// Makes the npm package `url-checker`: `node .ci/pack.ts FOLDER` writes the tarball into the folder and prints its path. The checker and the bridge for
// assistants are bundled with their packages, so that they install alone and run on Node 22; the service is there file by file, without types.
// `npm pack` runs it last, so that its tarball, which holds the project as it lies, is replaced by the package.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ERROR_CODES, Outcome } from '../events/checks.ts';
import { packFolder } from './pack-folder.ts';
import { typeOf } from './schema-types.ts';

const root = join(import.meta.dirname, '..');
const NODE = 'node22';
const LIBRARY = 'checkers/index.ts';
/** The name of another file of the project, which an import or a thread has. */
const OWN_IMPORT = /(["'`])(\.{1,2}\/[^"'`\n]*)\.ts\1/g;
/** Folders and files of the service. */
const SERVICE = [
  ...[
    'adapters',
    'analysis',
    'audit',
    'backups',
    'checkers',
    'cli',
    'commands',
    'events',
    'http',
    'intake',
    'net',
    'processes',
  ],
  ...['projections', 'readmodels', 'roles', 'service', 'settings', 'time', 'main.ts', 'boot.js', 'runtime.js'],
];
/** Copied as they are: the console is bundled by the running service. */
const AS_THEY_ARE = ['web', 'examples'];
const { name, version, description, license, dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

const { npm_command, npm_config_dry_run, npm_lifecycle_event } = process.env;
// npm runs `postpack` behind `npm run pack` too, which has made the package already.
if (npm_config_dry_run === 'true' || (npm_lifecycle_event === 'postpack' && npm_command !== 'pack')) process.exit();
const to = packFolder();
const work = mkdtempSync(join(tmpdir(), 'pack-'));
try {
  await bundle(join(work, 'dist'));
  await strip(join(work, 'service'));
  writeTypes(join(work, 'types'));
  cpSync(join(root, 'examples'), join(work, 'examples'), { recursive: true });
  for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(work, file));
  writeFileSync(join(work, 'package.json'), JSON.stringify(manifest(), null, 2));
  // Without the settings of an `npm pack` that runs this, such as --json.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_config_')));
  const options = { cwd: work, encoding: 'utf8', env } as const;
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', to], options);
  if (npm_lifecycle_event !== 'postpack') console.log(join(to, packed.trim())); // npm prints the name itself
} finally {
  rmSync(work, { recursive: true, force: true });
}

function manifest(): object {
  const { '@duckdb/node-api': duckdb } = optionalDependencies;
  const of_service: Record<string, string> = { ...dependencies, '@duckdb/node-api': duckdb };
  return {
    ...{ name, version, description, license, type: 'module', engines: { node: '>=22.15' } },
    bin: { [name]: 'dist/cli/package.js' },
    exports: { '.': { types: './types/checkers/index.d.ts', default: './dist/cli/index.js' } },
    // Only the service needs them, and whoever runs it installs them.
    peerDependencies: of_service,
    peerDependenciesMeta: Object.fromEntries(Object.keys(of_service).map((one) => [one, { optional: true }])),
  };
}

/** The files know each other by where they lie below `dist/cli`, as in the project. */
async function bundle(outdir: string): Promise<void> {
  const ofService: Plugin = {
    name: 'service',
    setup: ({ onResolve }) =>
      onResolve({ filter: /\/local-service\.ts$/ }, () => ({
        path: '../../service/cli/local-service.js',
        external: true,
      })),
  };
  await build({
    entryPoints: { 'cli/package': 'cli/package.ts', 'cli/index': 'checkers/index.ts' },
    ...{ bundle: true, splitting: true, minify: true, legalComments: 'linked', chunkNames: 'cli/[name]-[hash]' },
    ...{ outdir, absWorkingDir: root, platform: 'node', format: 'esm', target: NODE, logLevel: 'warning' },
    // Packages in CommonJS ask for Node's own modules.
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    plugins: [ofService],
  });
}

/** Each file by itself: its threads are started by the names of their files. */
async function strip(outdir: string): Promise<void> {
  const files = SERVICE.flatMap((one) =>
    /[.][jt]s$/.test(one)
      ? [one]
      : readdirSync(join(root, one), { recursive: true, encoding: 'utf8' }).map((file) => join(one, file)),
  );
  const scripts = files.filter((file) => file.endsWith('.ts'));
  const { outputFiles } = await build({
    entryPoints: scripts,
    ...{
      absWorkingDir: root,
      outbase: root,
      outdir,
      platform: 'node',
      format: 'esm',
      target: NODE,
      write: false,
      logLevel: 'warning',
    },
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replaceAll(OWN_IMPORT, '$1$2.js$1'));
  }
  for (const file of files.filter((file) => /[.](js|html|css)$/.test(file))) {
    mkdirSync(dirname(join(outdir, file)), { recursive: true });
    cpSync(join(root, file), join(outdir, file));
  }
  for (const folder of AS_THEY_ARE) cpSync(join(root, folder), join(outdir, folder), { recursive: true });
  writeFileSync(join(outdir, 'package.json'), JSON.stringify({ name, version, type: 'module' }));
}

/** The types of the library. Those that the project derives from schemas are written out, so that no package is needed for them. */
function writeTypes(outdir: string): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--ignoreConfig', '--noCheck', '--declaration', '--emitDeclarationOnly', '--skipLibCheck'];
  const more = ['--allowImportingTsExtensions', '--target', 'esnext', '--module', 'nodenext', '--types', 'node'];
  const all = mkdtempSync(join(tmpdir(), 'types-'));
  try {
    const files = ['--rootDir', root, '--outDir', all, join(root, LIBRARY)];
    execFileSync(process.execPath, [tsc, ...options, ...more, ...files], { cwd: root });
    const outcome = `export type Outcome = ${typeOf(JSON.parse(JSON.stringify(Outcome)))};\n`;
    const names = ERROR_CODES.map((code) => `'${code}'`).join(' | ');
    const checks = `${outcome}export type ErrorCode = ${names};\nexport type Verdict = Outcome['verdict'];\n`;
    writeFileSync(join(all, 'events/checks.d.ts'), checks);
    const seen = new Set<string>();
    copyTypes(LIBRARY.replace(/[.]ts$/, '.d.ts'), { from: all, to: outdir, seen });
  } finally {
    rmSync(all, { recursive: true, force: true });
  }
}
/** Copies the file and all that it imports of the project. */
function copyTypes(file: string, places: { from: string; to: string; seen: Set<string> }): void {
  const { from, to, seen } = places;
  if (seen.has(file)) return;
  seen.add(file);
  const text = readFileSync(join(from, file), 'utf8');
  for (const [, path] of text.matchAll(/["'](\.{1,2}\/[^"'\n]*)\.ts["']/g))
    copyTypes(join(dirname(file), `${path}.d.ts`), places);
  mkdirSync(dirname(join(to, file)), { recursive: true });
  writeFileSync(join(to, file), text.replaceAll(OWN_IMPORT, '$1$2.js$1'));
}
