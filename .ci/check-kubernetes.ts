// Checks what `kustomize build` makes of deploy/kubernetes, given as a JSON array on standard input, beyond the schemas of Kubernetes: every
// reference leads somewhere, each role has the settings that docker-compose.yml gives it, valid ones, and every container is confined.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ConfigError, ROLES, readConfig } from '../settings/config.ts';

type Labels = Record<string, string>;
interface Container {
  env?: { name: string; value: string }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: { name: string }[];
  resources?: { requests?: object; limits?: Record<string, string> };
  securityContext?: Record<string, unknown>;
  volumeMounts?: { name: string; mountPath: string }[];
  [probe: `${string}Probe`]: { httpGet: { port: string } } | undefined;
}
interface PodSpec {
  containers: Container[];
  volumes?: { name: string }[];
  securityContext?: Record<string, unknown>;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
}
interface Resource {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: {
    template?: { metadata: { labels: Labels }; spec: PodSpec };
    jobTemplate?: { spec: { template: { metadata: { labels: Labels }; spec: PodSpec } } };
    selector?: { matchLabels?: Labels };
    scaleTargetRef?: { name: string };
  };
}

const resources = JSON.parse(await text(process.stdin)) as Resource[];
const compose = readFileSync(join(import.meta.dirname, '../docker-compose.yml'), 'utf8');
const problems: string[] = [];
const ofKind = (...kinds: string[]) => resources.filter(({ kind }) => kinds.includes(kind));
const expect = (holds: unknown, problem: string) => holds || problems.push(problem);
const deployments = ofKind('Deployment');

/** The settings that compose gives a role: those for every role first. A setting with `:?` has to be set. */
function settingsOf(role: string): { name: string; is_needed: boolean }[] {
  const every = compose.split(/^x-environment:.*$/m)[1]!.split(/^services:$/m)[0]!;
  const own = compose
    .split(/^services:$/m)[1]!
    .split(/^ {2}(?=[a-z])/m)
    .find((block) => block.startsWith(`${role}:`));
  const lines = `${every}${own}`.matchAll(/^ +([A-Z_]+): (.*)$/gm);
  return [...lines].map(([, name, value]) => ({ name: name!, is_needed: !/^\$\{[A-Z_]+:-/.test(value!) }));
}

/** What the container has of ConfigMaps and Secrets. */
function environmentOf(name: string, { env = [], envFrom = [] }: Container): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { configMapRef, secretRef } of envFrom) {
    const [kind, ref] = configMapRef ? ['ConfigMap', configMapRef] : ['Secret', secretRef];
    const source = ofKind(kind).find(({ metadata }) => metadata.name === ref?.name);
    expect(source, `${name}: there is no ${kind} ${ref?.name}`);
    const decoded = Object.entries(source?.data ?? {}).map(([key, value]) => [
      key,
      kind === 'Secret' ? Buffer.from(value, 'base64').toString() : value,
    ]);
    Object.assign(found, Object.fromEntries(decoded));
  }
  return { ...found, ...Object.fromEntries(env.map(({ name: key, value }) => [key, value])) };
}

function checkSettings(role: string, environment: Record<string, string>): void {
  const known = settingsOf(role);
  for (const { name, is_needed } of known) if (is_needed) expect(environment[name], `${role}: ${name} is not set`);
  for (const name of Object.keys(environment))
    expect(
      known.some((one) => one.name === name),
      `${role}: it does not read ${name}`,
    );
  try {
    readConfig({ HOST: '0.0.0.0', METRICS_PORT: '9464', ...environment });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems.map((problem) => `${role}: ${problem}`));
  }
}

/** As the policy `restricted` of Kubernetes wants it, with a read-only root and a limit of memory. */
function checkPod(name: string, pod: PodSpec): void {
  const { automountServiceAccountToken, enableServiceLinks, securityContext: of_pod = {}, volumes = [] } = pod;
  expect(automountServiceAccountToken === false, `${name}: it gets a token of the cluster`);
  expect(enableServiceLinks === false, `${name}: Services may set its settings`);
  expect(of_pod.runAsNonRoot === true && Number(of_pod.runAsUser) > 0, `${name}: it may run as root`);
  expect(JSON.stringify(of_pod.seccompProfile) === '{"type":"RuntimeDefault"}', `${name}: it has no seccomp profile`);
  for (const { securityContext = {}, resources: { requests, limits } = {}, volumeMounts = [] } of pod.containers) {
    const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = securityContext;
    expect(allowPrivilegeEscalation === false && readOnlyRootFilesystem === true, `${name}: it is not confined`);
    expect(JSON.stringify(capabilities) === '{"drop":["ALL"]}', `${name}: it keeps capabilities`);
    expect(limits?.memory && requests, `${name}: it has no limit of memory, or asks for nothing`);
    for (const path of ['/data', '/tmp', '/app/node_modules/.cache']) {
      const mount = volumeMounts.find(({ mountPath }) => mountPath === path);
      expect(mount && volumes.some((volume) => volume.name === mount.name), `${name}: it cannot write to ${path}`);
    }
  }
}

const isIn = (wanted: Labels = {}, labels: Labels = {}) =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

for (const role of ROLES) {
  const { spec } = deployments.find(({ metadata }) => metadata.name === role) ?? {};
  const [container] = spec?.template?.spec.containers ?? [];
  if (!container) {
    problems.push(`there is no Deployment ${role}`);
    continue;
  }
  checkSettings(role, environmentOf(role, container));
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const)
    expect(
      container.ports?.some(({ name }) => name === container[probe]?.httpGet.port),
      `${role}: its ${probe} asks no port`,
    );
}
for (const { metadata, spec } of ofKind('Deployment', 'CronJob')) {
  const { template = spec?.jobTemplate?.spec.template } = spec ?? {};
  checkPod(metadata.name, template!.spec);
  for (const container of template!.spec.containers) environmentOf(metadata.name, container);
}
for (const { kind, metadata, spec } of ofKind('PodDisruptionBudget', 'Service', 'Deployment')) {
  const wanted = kind === 'Service' ? (spec?.selector as Labels) : spec?.selector?.matchLabels;
  const meant = deployments.filter((one) => isIn(wanted, one.spec?.template?.metadata.labels));
  expect(meant.length === 1, `${kind} ${metadata.name} selects ${meant.length} Deployments`);
}
const scalers = ofKind('HorizontalPodAutoscaler', 'ScaledObject');
expect(
  scalers.length === 1 && scalers[0]!.spec?.scaleTargetRef?.name === 'checker',
  'not one autoscaler scales the checkers',
);

for (const problem of problems) console.error(`deploy/kubernetes: ${problem}`);
console.log(`deploy/kubernetes: ${resources.length} resources, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
