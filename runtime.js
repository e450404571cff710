// Runs before the modules of a program: an older Node, which would end with a stack, ends with a sentence. No syntax and no import here
// is newer than Node 18.
const LEAST = 24;

if (Number.parseInt(process.versions.node, 10) < LEAST) {
  process.stderr.write(
    `This needs Node.js ${LEAST} or later, and runs on ${process.versions.node}. On Linux \`npm ci\` brings one, unless optional packages or ` +
      `scripts are left out (npm ci --include=optional && npm rebuild); elsewhere install Node.js ${LEAST}.\n`,
  );
  process.exit(1);
}
