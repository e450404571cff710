// Checks docker-compose.yml, given as JSON on standard input, beyond the Compose Specification's schema: references name
// existing services and volumes, durations parse, and variables have Compose's syntax.
import { text } from 'node:stream/consumers';

interface Service {
  depends_on?: Record<string, { condition: string }>;
  volumes?: { type: string; source: string }[];
  healthcheck?: Record<string, unknown>;
  environment?: Record<string, string | null>;
}
const input = await text(process.stdin);
const { services, volumes } = JSON.parse(input) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};

const problems: string[] = [];
const used = new Set<string>();
for (const [name, service] of Object.entries(services)) {
  for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
    if (!services[other]) problems.push(`${name} depends on ${other}, which is not there`);
    else if (condition === 'service_healthy' && !services[other].healthcheck?.test)
      problems.push(`${name} waits for the health of ${other}, which has no check`);
  }
  for (const { type, source } of service.volumes ?? []) {
    if (type !== 'volume') continue;
    used.add(source);
    if (!(source in volumes)) problems.push(`${name} mounts the volume ${source}, which is not declared`);
  }
  for (const time of ['interval', 'timeout', 'start_period']) {
    const value = service.healthcheck?.[time];
    if (value !== undefined && !/^(\d+(ms|s|m|h))+$/.test(String(value))) problems.push(`${name}: ${time} is ${value}`);
  }
}
for (const volume of Object.keys(volumes))
  if (!used.has(volume)) problems.push(`no service mounts the volume ${volume}`);
for (const [written] of input.matchAll(/\$\{[^}]*\}?/g)) {
  if (!/^\$\{[A-Z][A-Z0-9_]*(:[-?][^{}]*)?\}$/.test(written)) problems.push(`not a variable: ${written}`);
}

for (const problem of problems) console.error(`docker-compose.yml: ${problem}`);
console.log(`docker-compose.yml: ${Object.keys(services).length} services, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
