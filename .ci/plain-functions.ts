// The functions of the product that CONTRIBUTING.md wants an example of: declared with `function`, imported by another top-level folder,
// and of built-in data alone, so that a line calls them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { type FunctionDeclaration, type Module, type Pattern, parseSync, type TsType } from '@swc/core';

/** These ask the machine, or make files or sockets of what they get. */
const EFFECTS = [
  'compactFiles',
  'isThere',
  'openFilesAllowed',
  'openOutboxMailer',
  'openSavedSpill',
  'sourceOfParquet',
];
const BUILT_IN = ['Buffer', 'Uint8Array', 'URL', 'Date', 'Error', 'ReadonlySet', 'ReadonlyMap', 'Record', 'Readonly'];

/** The files of the product. */
export const productFiles = (): string[] =>
  execFileSync('git', ['ls-files', '*.ts'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !/^(test|bench|\.ci)\/|\.config\.|\.d\.ts$/.test(file));

/** By file: the names of its functions. */
export function plainFunctions(): Map<string, string[]> {
  const modules = new Map(productFiles().map((file) => [file, parsed(file)]));
  const imported = new Set([...modules].flatMap(([file, module]) => importsOf(file, module)));
  return new Map(
    [...modules].map(([file, module]) => {
      const names = functionsOf(module).flatMap((each) => (isPlain(each) ? [each.identifier.value] : []));
      return [file, names.filter((name) => imported.has(`${file} ${name}`) && !EFFECTS.includes(name))];
    }),
  );
}

const parsed = (file: string): Module =>
  parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2022' });

/** What a file imports of other top-level folders: file and name. */
function importsOf(file: string, { body }: Module): string[] {
  return body.flatMap((item) => {
    if (item.type !== 'ImportDeclaration' || !item.source.value.startsWith('.')) return [];
    const from = normalize(join(dirname(file), item.source.value));
    if (from.split('/')[0] === file.split('/')[0]) return [];
    return item.specifiers.map((each) => {
      const name = each.type === 'ImportSpecifier' ? (each.imported ?? each.local) : each.local;
      return `${from} ${name.value}`;
    });
  });
}

const functionsOf = ({ body }: Module): FunctionDeclaration[] =>
  body.flatMap((item) =>
    item.type === 'ExportDeclaration' && item.declaration.type === 'FunctionDeclaration' ? [item.declaration] : [],
  );

function isPlain({ params, async, generator, typeParameters, returnType }: FunctionDeclaration): boolean {
  if (async || generator || typeParameters || params.length === 0) return false;
  if (JSON.stringify(returnType ?? null).includes('Promise')) return false;
  return params.every(({ pat }) => {
    const type = typeOf(pat.type === 'AssignmentPattern' ? pat.left : pat);
    // A default is data.
    return isData(type) || (type === undefined && pat.type === 'AssignmentPattern');
  });
}

const typeOf = (pattern: Pattern): TsType | undefined =>
  'typeAnnotation' in pattern && pattern.typeAnnotation?.type === 'TsTypeAnnotation'
    ? pattern.typeAnnotation.typeAnnotation
    : undefined;

/** Whether a type is made of built-in data. */
function isData(type: TsType | undefined): boolean {
  switch (type?.type) {
    case 'TsKeywordType':
    case 'TsLiteralType':
      return true;
    case 'TsUnionType':
      return type.types.every(isData);
    case 'TsArrayType':
      return isData(type.elemType);
    case 'TsTypeOperator':
    case 'TsParenthesizedType':
      return isData(type.typeAnnotation);
    case 'TsTypeLiteral':
      return type.members.every(
        (each) => each.type === 'TsPropertySignature' && isData(each.typeAnnotation?.typeAnnotation),
      );
    case 'TsTypeReference': {
      const { typeName, typeParams } = type;
      return (
        typeName.type === 'Identifier' && BUILT_IN.includes(typeName.value) && (typeParams?.params ?? []).every(isData)
      );
    }
    default:
      return false;
  }
}
