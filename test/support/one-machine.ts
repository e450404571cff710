// The blocks of the guide for one machine that other programs take: units of systemd, and configurations of reverse proxies.
import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../docs/guides/one-machine.md', import.meta.url), 'utf8');

/** @example codeBlocks('nginx')[0] */
export const codeBlocks = (language: string): readonly string[] =>
  [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!);

const unitWith = (text: string) => codeBlocks('ini').find((block) => block.includes(text))!;

export const UNITS = {
  'url-checker.service': unitWith('main.ts'),
  'url-checker-backup.service': unitWith('backup -- create'),
  'url-checker-backup.timer': unitWith('[Timer]'),
};
