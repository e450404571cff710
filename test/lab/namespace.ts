// Runs the laboratory again where the ports 80, 443 and 53 are free: in a network and mount namespace, which ends with the process.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const INSIDE = 'LAB_NAMESPACE';
/** The name server is in the thread that asks it, so both may be late. */
const RESOLV_CONF = 'nameserver 127.0.0.1\noptions timeout:5 attempts:3\n';

/** Whether this process is in a namespace of its own. */
export const isInNamespace = (): boolean => process.env[INSIDE] !== undefined;

/** Root only: the exit code of this program in a namespace; null where there can be none. */
export function runInNamespace(): number | null {
  if (isInNamespace() || process.getuid?.() !== 0) return null;
  const folder = mkdtempSync(join(tmpdir(), 'lab-'));
  writeFileSync(join(folder, 'resolv.conf'), RESOLV_CONF);
  const mounted = `mount --bind ${folder}/resolv.conf /etc/resolv.conf`;
  const script = `ip link set lo up && ${mounted} && exec "$0" "$@"`;
  const { status } = spawnSync(
    'unshare',
    ['--net', '--mount', '--fork', '--kill-child', 'sh', '-c', script, process.execPath, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, [INSIDE]: folder } },
  );
  rmSync(folder, { recursive: true, force: true });
  return status ?? 1;
}
