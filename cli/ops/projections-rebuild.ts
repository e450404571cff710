// `projections rebuild`: makes read models anew of the log, beside those that are read, and puts them in their place.
import { type Command, count, EXIT } from './command.ts';
import { textOfComparison } from './comparisons.ts';
import { ALL, namedProjections } from './projection-names.ts';
import { type Rebuilt, rebuild } from './rebuild.ts';

export const projectionsRebuild: Command = {
  arguments: '[NAME…]',
  summary: 'rebuild read models from the log while they are read, and put them in their place (this writes documents)',
  options: {
    all: ALL,
    verify: {
      type: 'boolean',
      means: 'before, compare each document with the live one, as of one position of the log, and name what differs',
    },
    anew: { type: 'boolean', means: 'begin again where a build is under way, instead of going on with it' },
  },
  async run(run) {
    const projections = namedProjections(run);
    const { verify = false, anew = false } = run.values as { verify?: boolean; anew?: boolean };
    const rebuilt = await rebuild(run, projections, { verify, anew });
    if (rebuilt === null) {
      run.err.write('stopped: the build continues when a projector runs, or with the same command\n');
      return EXIT.unknown;
    }
    if (run.json) run.out.write(`${JSON.stringify({ projections: rebuilt }, null, 2)}\n`);
    else for (const one of rebuilt) run.out.write(textOf(one));
    return rebuilt.every(isClean) ? EXIT.clean : EXIT.violation;
  },
};

export const isClean = ({ parked_events, verified }: Rebuilt) =>
  parked_events === 0 && (verified?.differing ?? 0) === 0;

export function textOf({ name, version, generation, parked_events, verified }: Rebuilt): string {
  const lines = [
    `${name}: version ${version} is built and live, as generation ${generation}`,
    ...(verified ? textOfComparison(verified).map((line) => `  ${line}`) : []),
    ...(parked_events > 0 ? [`  ${count(parked_events, 'event')} parked: \`park list\` says why`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
