// The report as SARIF 2.1.0, which code hosts show beside the lines of the files: a result for each URL that makes the check fail, and a
// note for each blocked one.
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { type Checked, type CheckedUrl, listedIn, STDIN_NAME } from './checked.ts';
import { reasonOf } from './text.ts';

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';
/** Where the paths of the results begin. */
const ROOT_ID = 'ROOT';

export function* sarifOf(checked: Checked): Generator<string> {
  const { fail_on } = checked;
  const rules = VERDICTS.map((id) => ({ id, shortDescription: { text: `${id}: ${VERDICT_MEANINGS[id]}` } }));
  const driver = { name: 'url-checker', rules };
  const root = pathToFileURL(`${rootFolder()}/`).href;
  yield `{"$schema":${JSON.stringify(SCHEMA)},"version":"2.1.0","runs":[{"tool":${JSON.stringify({ driver })},`;
  yield `"originalUriBaseIds":${JSON.stringify({ [ROOT_ID]: { uri: root } })},"columnKind":"utf16CodeUnits","results":[`;
  let between = '\n';
  for (const result of checked.results(listedIn(checked))) {
    yield between + JSON.stringify(resultOf(result, fail_on.includes(result.verdict)));
    between = ',\n';
  }
  yield '\n]}]}\n';
}

const rootFolder = () => process.env.GITHUB_WORKSPACE ?? process.env.CI_PROJECT_DIR ?? process.cwd();

function resultOf(result: CheckedUrl, fails: boolean): object {
  const { verdict, url, file, row } = result;
  const level = fails ? 'error' : verdict === 'blocked' ? 'note' : 'none';
  const common = {
    ruleId: verdict,
    ruleIndex: VERDICTS.indexOf(verdict),
    level,
    // SARIF takes brackets for links.
    message: { text: `${url}: ${reasonOf(result)}`.replace(/[[\]\\]/g, '\\$&') },
    partialFingerprints: { 'url/v1': `${verdict} ${url}` },
  };
  if (file === null || file === STDIN_NAME) return common;
  const uri = relative(rootFolder(), resolve(file)).split('\\').join('/').split('/').map(encodeURIComponent).join('/');
  const region = row === null || row < 1 ? {} : { region: { startLine: row } };
  return { ...common, locations: [{ physicalLocation: { artifactLocation: { uri, uriBaseId: ROOT_ID }, ...region } }] };
}
