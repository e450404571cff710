// Decides for the suites of `npm run test:servers` which server each runs against: one named by an environment variable,
// or a container where Docker runs. A suite that is asked for and has no server fails; only `SERVER_SUITES` leaves one out.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { StartedTestContainer } from 'testcontainers';

const SUITES = ['nats', 'mongodb', 'eventstoredb', 's3', 'proxies'] as const;
export type SuiteName = (typeof SUITES)[number];

export interface ServerSource {
  /** The environment variable that names a running server. */
  url_env: string;
  /** What is started when it is unset. The container is removed when the test process ends. */
  container: {
    image: string;
    /** The server's port inside the container. */
    port: number;
    environment?: Record<string, string>;
    command?: string[];
    /** The line of its log that says that it takes connections; unset waits for the port. */
    ready?: RegExp;
    /** The URL under which the port is reached from here. */
    url(host: string, port: number): string;
    /** What must be done once before the first test, such as initiating a replica set. */
    prepare?(container: StartedTestContainer): Promise<unknown>;
  };
}

const CONNECT_MS = 60_000;
const START_MS = 120_000;

/**
 * The URL of the suite's server, or null when `SERVER_SUITES` (comma separated; unset lists all) does not list it: the
 * caller then says so with `test.todo`. Throws, which fails the test file, when the suite is listed and has no server.
 */
export async function serverSuite(name: SuiteName, { url_env, container }: ServerSource): Promise<string | null> {
  const listed = listedSuites(process.env.SERVER_SUITES);
  if (!listed.includes(name)) {
    console.log(`${name}: LEFT OUT, not run: SERVER_SUITES lists only ${listed.join(', ')}`);
    return null;
  }
  const url = process.env[url_env];
  if (url) {
    await reach(url).catch((cause: unknown) => {
      throw new Error(`${name}: no server answers at ${url_env}`, { cause });
    });
    return url;
  }
  return start(container).catch((cause: unknown) => {
    const others = SUITES.filter((suite) => suite !== name).join(',');
    throw new Error(
      `${name}: no server to run against. Set ${url_env}, or start Docker (for ${container.image}), ` +
        `or leave the suite out with SERVER_SUITES=${others}`,
      { cause },
    );
  });
}

/** The suites that a value of `SERVER_SUITES` lists. A name that is not one is an error, for it would leave one out. */
export function listedSuites(value: string | undefined): readonly SuiteName[] {
  if (value === undefined || value.trim() === '') return SUITES;
  return value.split(',').map((part) => {
    const suite = SUITES.find((known) => known === part.trim());
    if (suite === undefined) throw new Error(`SERVER_SUITES: '${part}' is none of ${SUITES.join(', ')}`);
    return suite;
  });
}

/** Resolves when one of the URL's hosts accepts a connection. */
async function reach(url: string): Promise<void> {
  // Not `new URL`: connection strings list several hosts, which it refuses.
  const authority = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^/?]+)/i.exec(url)?.[1];
  if (authority === undefined) throw new Error(`'${url}' is not a URL`);
  const DEFAULT_PORTS: Record<string, number> = { nats: 4222, mongodb: 27017, esdb: 2113 };
  const scheme = url.slice(0, url.indexOf(':'));
  if (scheme.includes('+')) return; // found by DNS or gossip: the client's own connecting is the check
  await Promise.any(
    authority.split(',').map(async (host) => {
      const [, name, port] = /^\[?(.+?)\]?(?::(\d+))?$/.exec(host)!;
      const socket = connect({ host: name!, port: Number(port ?? DEFAULT_PORTS[scheme]) });
      try {
        await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
      } finally {
        socket.destroy();
      }
    }),
  );
}

async function start(source: ServerSource['container']): Promise<string> {
  // Imported only here: it looks for Docker while it loads.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = new GenericContainer(source.image)
    .withExposedPorts(source.port)
    .withEnvironment(source.environment ?? {})
    .withStartupTimeout(START_MS)
    .withWaitStrategy(source.ready ? Wait.forLogMessage(source.ready) : Wait.forListeningPorts());
  if (source.command) container.withCommand(source.command);
  const started = await container.start();
  await source.prepare?.(started);
  return source.url(started.getHost(), started.getMappedPort(source.port));
}
