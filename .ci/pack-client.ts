// Makes the packages `url-checker-client` of npm and of PyPI: `node .ci/pack-client.ts FOLDER` writes the tarball and the wheel into the folder and prints
// their paths.
import { execFileSync } from 'node:child_process';
import { cpSync, createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { build } from 'esbuild';
import yazl from 'yazl';
import { packFolder } from './pack-folder.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'clients/typescript');
const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const to = packFolder();
const work = mkdtempSync(join(tmpdir(), 'pack-client-'));
try {
  await build({
    entryPoints: [join(source, 'index.ts')],
    ...{ bundle: true, outdir: work, platform: 'neutral', format: 'esm', target: 'es2022', logLevel: 'warning' },
  });
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--ignoreConfig', '--noCheck', '--declaration', '--emitDeclarationOnly', '--skipLibCheck'];
  const more = ['--allowImportingTsExtensions', '--rewriteRelativeImportExtensions', '--target', 'es2022'];
  const files = ['--module', 'nodenext', '--types', '', '--outDir', work, join(source, 'index.ts')];
  execFileSync(process.execPath, [tsc, ...options, ...more, ...files], { cwd: root });
  // Declarations name the files of the project.
  const types = join(work, 'index.d.ts');
  writeFileSync(types, readFileSync(types, 'utf8').replaceAll("./models.ts'", "./models.js'"));
  for (const [from, name] of [
    [join(root, 'clients/README.md'), 'README.md'],
    [join(root, 'LICENSE'), 'LICENSE'],
  ] as const)
    cpSync(from, join(work, name));
  const manifest = {
    ...{ name: 'url-checker-client', version, license, description: "A client of the URL checker's public API" },
    ...{ type: 'module', sideEffects: false, engines: { node: '>=20' } },
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
  };
  writeFileSync(join(work, 'package.json'), JSON.stringify(manifest, null, 2));
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', to], { cwd: work, encoding: 'utf8' });
  console.log(join(to, packed.trim()));
  console.log(await wheel());
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** A wheel is a ZIP archive with the files of the package and what describes it. Nothing has to be compiled. */
async function wheel(): Promise<string> {
  const name = `url_checker_client-${version}`;
  const info = `${name}.dist-info`;
  const package_folder = join(root, 'clients/python/url_checker_client');
  const contents: Record<string, Buffer | string> = {
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: url-checker-client\nVersion: ${version}\nRequires-Python: >=3.11\nLicense: ${license}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: pack-client\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  for (const file of ['__init__.py', 'models.py', 'py.typed']) {
    contents[`url_checker_client/${file}`] = readFileSync(join(package_folder, file));
  }
  contents[`${info}/RECORD`] = [...Object.keys(contents), `${info}/RECORD`].map((path) => `${path},,\n`).join('');
  const archive = new yazl.ZipFile();
  for (const [path, content] of Object.entries(contents)) archive.addBuffer(Buffer.from(content), path);
  archive.end();
  const target = join(to, `${name}-py3-none-any.whl`);
  await pipeline(archive.outputStream, createWriteStream(target));
  return target;
}
