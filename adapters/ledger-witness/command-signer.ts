// Has a command sign the heads of the ledger, such as the client of a key management service: it reads the text of the note and prints signature lines.
import { spawn } from 'node:child_process';
import { OutsideFault, type OutsideSigner } from '../../processes/ledger-witness.ts';

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
const SIGNATURE = /^— [^\s+]{1,500} [A-Za-z0-9+/]{8,20000}={0,2}$/;

interface CommandSignerOptions {
  /** For the system's shell. */
  command: string;
  /** Whether the lines sign the text with the key that is expected. */
  isSigned?: (text: string, lines: string) => boolean;
  timeout_ms?: number;
}

export function openCommandSigner(options: CommandSignerOptions): OutsideSigner {
  const { command, isSigned = () => true, timeout_ms = TIMEOUT_MS } = options;
  return async (text) => {
    const lines = (await outputOf(command, text, timeout_ms)).split('\n').filter((line) => line.trim() !== '');
    if (lines.length === 0 || !lines.every((line) => SIGNATURE.test(line)))
      throw new OutsideFault('the command of LEDGER_SIGN_COMMAND prints no signature line: — NAME BASE64');
    const signature = `${lines.join('\n')}\n`;
    if (!isSigned(text, signature)) throw new OutsideFault('the signature is not of the key LEDGER_SIGN_KEY');
    return signature;
  };
}

function outputOf(command: string, input: string, timeout_ms: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that all that the shell has started ends with it.
    const child = spawn(command, { shell: true, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    let bytes = 0;
    const end = (fault: string | null) => {
      clearTimeout(timer);
      if (fault === null) return resolve(Buffer.concat(out).toString());
      if (child.pid !== undefined && child.exitCode === null) kill(child.pid);
      reject(new OutsideFault(fault));
    };
    const timer = setTimeout(
      () => end(`the command of LEDGER_SIGN_COMMAND has not ended after ${timeout_ms / 1000} s`),
      timeout_ms,
    );
    const take = (chunks: Buffer[]) => (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) end('the command of LEDGER_SIGN_COMMAND prints too much');
      else chunks.push(chunk);
    };
    child.stdout.on('data', take(out));
    child.stderr.on('data', take(err));
    // It may end without reading.
    child.stdin.on('error', () => {});
    child.on('error', ({ message }) => end(`the command of LEDGER_SIGN_COMMAND cannot run: ${message}`));
    child.on('close', (code, signal) => {
      const said = Buffer.concat(err).toString().trim().split('\n').at(-1)!.slice(0, 200);
      end(code === 0 ? null : `the command of LEDGER_SIGN_COMMAND ended with ${code ?? signal}${said && `: ${said}`}`);
    });
    child.stdin.end(input);
  });
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
