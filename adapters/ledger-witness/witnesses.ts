// The witnesses that keep the heads of the ledger: a file that grows, such as one on another machine's disk, or a server that takes them by POST.
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OutsideFault, type Witness } from '../../processes/ledger-witness.ts';

const TIMEOUT_MS = 15_000;

/**
 * `url`: `file:///…`, `http://…` or `https://…`.
 * @example openWitness('file:///mnt/heads').name // '/mnt/heads'
 */
export function openWitness(url: string): Witness {
  return url.startsWith('file:') ? fileWitness(fileURLToPath(url)) : urlWitness(url);
}

/** Appends each note, and an empty line after it, so that a note that was cut off ends there. */
function fileWitness(path: string): Witness {
  return {
    name: path,
    async give(note) {
      try {
        await using file = await open(path, 'a+', 0o644);
        const text = `${note}\n`;
        const { size } = await file.stat();
        const end = Buffer.alloc(Math.min(size, Buffer.byteLength(text)));
        await file.read(end, 0, end.length, size - end.length);
        const kept = end.toString();
        if (kept === text) return;
        await file.appendFile(`${size === 0 || kept.endsWith('\n\n') ? '' : '\n\n\n'}${text}`);
        await file.sync();
      } catch (error) {
        throw new OutsideFault((error as NodeJS.ErrnoException).code ?? (error as Error).message);
      }
    },
  };
}

function urlWitness(url: string): Witness {
  return {
    // Its user, path or query may be a key.
    name: new URL(url).origin,
    async give(note) {
      const { username, password, href } = new URL(url);
      const target = new URL(href);
      target.username = target.password = '';
      const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      const answer = await fetch(target, {
        method: 'POST',
        body: note,
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          ...(username && { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
        },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch((error: Error & { cause?: { code?: string } }) => {
        throw new OutsideFault(error.cause?.code ?? error.message);
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new OutsideFault(`it answered ${answer.status}`);
    },
  };
}
