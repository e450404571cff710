// The projections of this version of the service, and those that a command names.
import { ALL_PROJECTIONS, openWorkerLogFollower } from '../../projections/all.ts';
import type { Projection } from '../../projections/projection.ts';
import { readConfig } from '../../settings/config.ts';
import { type Option, type Run, UsageError } from './command.ts';

export const ALL: Option = { type: 'boolean', means: 'every projection' };

export const projectionsOf = ({ env }: Pick<Run, 'env'>): readonly Projection[] => [
  ...ALL_PROJECTIONS,
  ...openWorkerLogFollower(readConfig(env)).projections,
];

/** The projections of the arguments, or every one: with `--all`, or without either where `is_all_usual`. Throws `UsageError`. */
export function namedProjections(run: Run, is_all_usual = false): readonly Projection[] {
  const all = projectionsOf(run);
  const names = run.arguments;
  const is_all = run.values.all === true || (is_all_usual && names.length === 0);
  if (is_all === names.length > 0) throw new UsageError('it needs the names of projections, or --all');
  if (is_all) return all;
  const unknown = names.find((name) => !all.some((projection) => projection.name === name));
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ');
    throw new UsageError(`there is no projection ${unknown}: there are ${known}`);
  }
  return all.filter(({ name }) => names.includes(name));
}
