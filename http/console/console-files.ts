// The files of the console: its page, and the scripts and styles that esbuild makes of `web/` at the first request, in memory.

import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { escaped } from '../frame/answers/html.ts';
import type { StoredFile } from '../frame/answers/stored-files.ts';

const WEB = fileURLToPath(new URL('../../web/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** The page runs scripts of this origin alone, makes no HTML of text, and sends nothing elsewhere. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export interface ConsoleFiles {
  page: StoredFile;
  /** The path of the style sheet. */
  style: string;
  /** By name. A name has the hash of its content. */
  assets: ReadonlyMap<string, StoredFile>;
}

/** What the page tells its scripts. */
export interface PageFacts {
  /** The path of `PUBLIC_URL`, without a slash at its end. */
  base: string;
  /** How users sign in: at an identity provider, by one-time links, or in no browser. */
  sign_in: 'provider' | 'link' | 'none';
  /** The command that prints a one-time link for this very service; asked when the page is made, after the service has its port. */
  linkCommand: () => string;
  /** Whether credits and plans can be bought. */
  sells: boolean;
}

/** The returned function makes the files at its first call; a failed attempt is made again at the next one. */
export function openConsoleFiles(facts: PageFacts): () => Promise<ConsoleFiles> {
  let made: Promise<ConsoleFiles> | null = null;
  return () =>
    (made ??= makeFiles(facts).catch((error: unknown) => {
      made = null;
      throw error;
    }));
}

async function makeFiles(facts: PageFacts): Promise<ConsoleFiles> {
  // Loaded here, so that a service whose console nobody opens does without it.
  const { build, stop } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: WEB,
    entryPoints: ['main.tsx', 'style/all.css'],
    outdir: '/',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'silent',
    target: 'es2024',
    tsconfig: 'tsconfig.json',
  }).finally(stop);
  const assets = new Map<string, StoredFile>();
  for (const { path, contents } of outputFiles) {
    const name = nameOf(path);
    assets.set(name, await storedFile(Buffer.from(contents), TYPES[name.split('.').at(-1)!]!));
  }
  const made = Object.entries(metafile.outputs).map(([path, output]) => ({ ...output, name: nameOf(path) }));
  const entry = (source: string) => made.find(({ entryPoint }) => entryPoint === source)!;
  const script = entry('main.tsx');
  const at = (name: string) => `${facts.base}/console/assets/${name}`;
  const style = at(entry('style/all.css').name);
  const page = pageOf(facts, {
    style,
    script: at(script.name),
    preloaded: script.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => at(nameOf(path))),
  });
  return { page: await storedFile(Buffer.from(page), 'text/html; charset=utf-8'), style, assets };
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

async function storedFile(bytes: Buffer, content_type: string): Promise<StoredFile> {
  const etag = `W/"${hash('sha1', bytes, 'base64url')}"`;
  return { content_type, etag, bytes, gzipped: await promisify(gzip)(bytes, { level: 9 }) };
}

function pageOf(
  { base, sign_in, linkCommand, sells }: PageFacts,
  { style, script, preloaded }: { style: string; script: string; preloaded: readonly string[] },
): string {
  return `<!doctype html>
<html lang="en" data-base="${escaped(base)}" data-sign-in="${sign_in}" data-link-command="${escaped(sign_in === 'link' ? linkCommand() : '')}" data-sells="${sells}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>URL checker</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escaped(style)}">
${preloaded.map((name) => `<link rel="modulepreload" href="${escaped(name)}">\n`).join('')}<script type="module" src="${escaped(script)}"></script>
</head>
<body><div id="console"></div><noscript>The console needs JavaScript. The service works without it: see ${escaped(base)}/docs.</noscript></body>
</html>
`;
}
