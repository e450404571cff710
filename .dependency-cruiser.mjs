// Which folder may import which: the architecture as a rule. `.ci/import-rules.ts` holds every module to it.
import { Visitor } from '@swc/core/Visitor.js';

/**
 * Of the project's folders, which folders or files each may import besides itself; `any`: it is free. A folder that is
 * not here fails. Packages and Node's own modules are not meant.
 */
export const FOLDERS = {
  events: [],
  time: [],
  net: [],
  // The limits and defaults that settings change.
  settings: ['intake/limits.ts', 'checkers/engine/limits.ts', 'net'],
  // The port that it implements, and the blocklist that it leaves URLs out by.
  intake: ['commands/jobs/intake.ts', 'events/without-password.ts', 'readmodels', 'time/event-loop.ts'],
  // The ledger is proven from the log alone.
  audit: ['events'],
  // Exported ledgers and backups are files of events too.
  analysis: ['events', 'audit/export-file.ts', 'audit/ledger-audit.ts', 'backups'],
  // The vocabulary: a read model says what happened in the same words.
  readmodels: ['events', 'time/event-loop.ts', 'time/units.ts'],
  examples: [],
  // Packages of their own, for programs elsewhere.
  clients: [],
  commands: ['events', 'audit', 'time/units.ts'],
  // The port of stored files, which keeps backups too, the id of the log, and a set that holds the names of deleted streams in little memory.
  backups: [
    'events',
    'commands/blobs.ts',
    'commands/jobs/job-blobs.ts',
    'commands/log-identity.ts',
    'intake/digest-set.ts',
  ],
  roles: ['readmodels/documents.ts', 'time'],
  projections: ['events', 'audit/merkle.ts', 'readmodels', 'roles', 'time'],
  // The queue's port and what travels in it: the processes publish the work that the checkers pull.
  processes: [
    ...['events', 'audit', 'commands', 'readmodels', 'roles', 'time', 'backups'],
    ...['checkers/queue.ts', 'checkers/work.ts', 'checkers/partitions.ts'],
  ],
  checkers: ['events', 'commands', 'time', 'net'],
  http: [
    ...['events', 'audit', 'commands', 'readmodels', 'intake', 'roles', 'net', 'settings'],
    ...['time/event-loop.ts', 'time/units.ts'],
  ],
  adapters: [], // and the port that each implements: see PORTS
  // It puts everything together: the only folder that picks adapters.
  service: 'any',
  // The browser's: it knows the service by its operations alone.
  web: [],
  cli: 'any',
  bench: 'any',
  test: 'any',
  '.ci': 'any',
};

/** The port of each folder of `adapters/`: the one file of the project that it may import besides itself. */
export const PORTS = {
  eventstore: 'events/event-store.ts',
  documents: 'readmodels/documents.ts',
  queue: 'checkers/queue.ts',
  blobs: 'commands/blobs.ts',
  'webhook-sender': 'processes/webhook-sender.ts',
  tracing: 'events/tracing.ts',
};
/** What an adapter may import besides its port. */
export const BESIDES_PORTS = {
  // The waits between tries while a server is away.
  eventstore: ['time/back-off.ts', 'time/pause.ts'],
  // Long reads share the turns of the event loop with other long work.
  documents: ['time/back-off.ts', 'time/event-loop.ts', 'time/pause.ts'],
  queue: ['time/back-off.ts', 'time/pause.ts'],
  // A link of S3 has the header of a download in it. The setting says what there is to know of a bucket.
  blobs: ['http/results/export/file-name.ts', 'settings/blob-url.ts'],
  // Webhooks go where their owners say: there is one address guard, the checker's.
  'webhook-sender': ['addresses', 'dns/lookup', 'errors', 'limits', 'resolver', 'retries'].map(
    (name) => `checkers/engine/${name}.ts`,
  ),
};
/** What the adapters of several ports share: how any file of SQLite's is written and looked at, other threads are told of it, the files of TLS, and for how long a store is waited for. */
const SHARED_BY_ADAPTERS =
  '^(adapters/(sqlite(-erasure|-look-pace)?|thread-signal|tls-files|mongodb-tls)|time/time-limits)[.]ts$';
/** The adapters of what has no folder of its own: the port is the file of their name, wherever it is used. */
const OTHER_PORT = '^(commands|processes|readmodels|http)/.*$1[.]ts$';

/** Not shipped: it may import what only developers install, and nothing shipped may import it. */
const FOR_DEVELOPERS = '^(test|bench|[.]ci)/|^[^/]+[.]config[.]js$|^[.]dependency-cruiser[.]mjs$';

const literal = (path) => path.replaceAll('.', '[.]');
const path = (entry) => (entry.endsWith('.ts') ? `^${literal(entry)}$` : `^${literal(entry)}/`);
const project = { dependencyTypes: ['local'] };

function folderRule([folder, may_import]) {
  return {
    name: `imports-of-${folder}`,
    severity: 'error',
    comment: may_import.length
      ? `${folder}/ imports only ${may_import.join(', ')}`
      : `${folder}/ imports no other folder`,
    from: { path: path(folder) },
    to: { ...project, pathNot: [folder, ...may_import].map(path) },
  };
}

function portRule([adapter, port]) {
  return {
    name: `port-of-${adapter}`,
    severity: 'error',
    comment: `adapters/${adapter}/ imports only its port, ${port}, and what BESIDES_PORTS says`,
    from: { path: `^adapters/${adapter}/` },
    to: {
      ...project,
      pathNot: [`^adapters/${adapter}/`, path(port), SHARED_BY_ADAPTERS, ...(BESIDES_PORTS[adapter] ?? []).map(path)],
    },
  };
}

// swc parses `using`, but the walker it ships throws there. The declarators are what holds imports.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function (statement) {
  if (statement.type !== 'UsingDeclaration') return visitStatement.call(this, statement);
  statement.decls = this.visitVariableDeclarators(statement.decls);
  return statement;
};

export default {
  forbidden: [
    ...Object.entries(FOLDERS)
      .filter(([folder, may_import]) => may_import !== 'any' && folder !== 'adapters')
      .map(folderRule),
    ...Object.entries(PORTS).map(portRule),
    {
      name: 'port-of-an-adapter',
      severity: 'error',
      comment: 'an adapter imports only its port',
      from: { path: '^adapters/([^/]+)/', pathNot: Object.keys(PORTS).map((adapter) => `^adapters/${adapter}/`) },
      to: { ...project, pathNot: ['^adapters/$1/', OTHER_PORT, SHARED_BY_ADAPTERS] },
    },
    {
      name: 'the-frame-knows-no-feature',
      severity: 'error',
      comment:
        'http/frame/ serves all features, so it imports none of them, and no read model but what pages are and the job that a route names',
      from: { path: '^http/frame/' },
      to: {
        path: '^(http|readmodels)/',
        pathNot: ['^http/frame/', '^readmodels/pages[.]ts$', '^readmodels/jobs/jobs[.]ts$'],
      },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'modules that import each other, types included, cannot be read one after the other',
      from: {},
      to: { circular: true },
    },
    {
      name: 'nothing-shipped-imports-developers-files',
      severity: 'error',
      comment: 'tests, benchmarks and checks are not part of the service',
      from: { pathNot: FOR_DEVELOPERS },
      to: { path: FOR_DEVELOPERS },
    },
    {
      name: 'no-development-packages',
      severity: 'error',
      comment:
        'what is shipped runs without devDependencies, and without packages that package.json does not name; types are not shipped',
      from: { pathNot: FOR_DEVELOPERS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm', 'type-only'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      comment: 'what is imported must be there',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 has no API that it could use; swc parses types too.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: 'node_modules',
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'import', 'default', 'types'] },
  },
};
