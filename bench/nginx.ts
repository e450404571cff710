// Starts nginx, where it is installed, as a benchmark's website: one worker answers a small page on every 127.x.y.z.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';

export interface Nginx {
  port: number;
  stop(): Promise<void>;
}

const PAGE = `<!doctype html><title>A page</title><h1>Things of some kind</h1><p>${'Some words about them. '.repeat(20)}</p>`;

/** Paths of PEM files. */
export interface Certificate {
  cert: string;
  key: string;
}

/** Null where nginx is not on the PATH. */
export async function startNginx(certificate: Certificate | null = null): Promise<Nginx | null> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-nginx-'));
  const port = await freePort();
  const path = join(folder, 'nginx.conf');
  await writeFile(path, config(folder, port, certificate));
  const child = spawn('nginx', ['-c', path], { stdio: 'ignore' });
  const ended = once(child, 'exit').catch(() => {});
  const installed = await once(child, 'spawn').then(
    () => true,
    () => false,
  );
  const stop = async () => {
    if (installed) child.kill('SIGQUIT');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  if (!installed) {
    await stop();
    return null;
  }
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { port, stop };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const is_there = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return is_there;
}

const config = (folder: string, port: number, certificate: Certificate | null) => `
worker_processes 1; worker_rlimit_nofile 65000; daemon off; pid ${folder}/pid; error_log ${folder}/error.log crit;
events { worker_connections 60000; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 3600; default_type "text/html; charset=utf-8";
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  ${certificate ? `ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};` : ''}
  server { listen 0.0.0.0:${port} ${certificate ? 'ssl ' : ''}backlog=4096; location / { return 200 '${PAGE}'; } }
}`;
