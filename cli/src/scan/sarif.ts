import packageJson from '../../package.json' with { type: 'json' };
import type { Finding } from './findings.ts';

/** How code hosts show a finding. */
const LEVELS: Readonly<Record<Finding['confidence'], string>> = {
  high: 'error',
  medium: 'warning',
  low: 'note',
  possible: 'note',
};

/** The findings as SARIF 2.1.0, which code hosts and editors show beside the lines. It has no value, only what the table has. */
export function sarifOf(findings: readonly Finding[]): object {
  const kinds = [...new Set(findings.map(({ kind }) => kind))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'coffer scan',
            version: packageJson.version,
            rules: kinds.map((id) => ({ id, shortDescription: { text: `A secret in a file: ${id}` } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => resultOf(finding, kinds.indexOf(finding.kind))),
      },
    ],
  };
}

function resultOf(finding: Finding, ruleIndex: number): object {
  const { file, line, lastLine, column, kind, confidence, commit, stored } = finding;
  const uri = file.split('/').map(encodeURIComponent).join('/');
  return {
    ruleId: kind,
    ruleIndex,
    level: LEVELS[confidence],
    message: { text: messageOf(finding) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: file.startsWith('/') ? { uri: `file://${uri}` } : { uri, uriBaseId: '%SRCROOT%' },
          region: { startLine: line, startColumn: column, ...(lastLine > line && { endLine: lastLine }) },
        },
      },
    ],
    properties: { confidence, ...(commit !== null && { commit }), ...(stored.length > 0 && { stored }) },
  };
}

function messageOf({ kind, sample, stored }: Finding): string {
  const [first] = stored;
  const where = first === undefined ? '' : ` It is stored as ${first}: ${rotationOf(first)}`;
  return `What begins with ${sample} looks like a secret (${kind}). Revoke or rotate it: removing the line does not remove it from the history.${where}`;
}

/** The command that replaces a stored value, whose place is written as `vault/path`. */
export function rotationOf(stored: string): string {
  const slash = stored.indexOf('/');
  return `coffer secrets rotate ${stored.slice(slash + 1)} --vault ${stored.slice(0, slash)}`;
}
