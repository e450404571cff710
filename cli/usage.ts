// Reads the words of a small command: `--help` prints how it is called, and so does a word that it does not know.
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Ends the program where there is nothing to do. */
export function readWords<Config extends ParseArgsConfig>(
  config: Config,
  usage: string,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
}
