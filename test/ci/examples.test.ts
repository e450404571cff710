// The examples in the comments of the product are true. One that is run is `expression // value`, to which words may follow after `;` or
// `:`, or `expression // throws`; any other shows how to call what it is of.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { plainFunctions, productFiles } from '../../.ci/plain-functions.ts';

const COMMENTED = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export (?:async )?(?:function|const) (\w+)/g;
const EXAMPLE = /@example ([\s\S]*?)(?=\n \* @|$)/;

interface Example {
  file: string;
  name: string;
  expression: string;
  /** The source of the value; null where the expression throws. */
  value: string | null;
}

/** The example of a comment; null where it is not run. */
function exampleIn(comment: string): Pick<Example, 'expression' | 'value'> | null {
  const text = EXAMPLE.exec(comment)?.[1]
    ?.replaceAll(/\n \* ?/g, ' ')
    .trim();
  const [, expression, said] = /^(.*?) \/\/ (.*)$/.exec(text ?? '') ?? [];
  if (expression === undefined || said === undefined || !isExpression(expression)) return null;
  if (/^throws\b/.test(said)) return { expression, value: null };
  const value = [said, ...[...said.matchAll(/[;:] /g)].map(({ index }) => said.slice(0, index))].find(isExpression);
  return value === undefined ? null : { expression, value };
}

function isExpression(source: string): boolean {
  try {
    new Function(`return (${source}\n)`);
    return true;
  } catch {
    return false;
  }
}

const examples: Example[] = productFiles().flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(COMMENTED)].flatMap(([, comment, name]) => {
    const example = exampleIn(comment!);
    return example ? [{ file, name: name!, ...example }] : [];
  }),
);

for (const { file, name, expression, value } of examples) {
  test(`${file}: ${name}`, async (t) => {
    const module: Record<string, unknown> = await import(join(process.cwd(), file));
    const evaluate = (source: string) =>
      new Function(...Object.keys(module), `return (${source}\n)`)(...Object.values(module));
    if (value === null) t.throws(() => evaluate(expression));
    else t.deepEqual(evaluate(expression), evaluate(value));
  });
}

test('each function of plain data that other folders use has an example', (t) => {
  const shown = new Set(examples.map(({ file, name }) => `${file}: ${name}`));
  const plain = [...plainFunctions()].flatMap(([file, names]) => names.map((name) => `${file}: ${name}`));
  t.true(plain.length > 30, `${plain.length} functions were found`);
  t.deepEqual(
    plain.filter((each) => !shown.has(each)),
    [],
  );
});
