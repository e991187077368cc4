import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtProgram, HELM, KUBE_APISERVER } from '../cluster/go-programs.ts';

export const CHART = join(import.meta.dirname, '../../deploy/helm/coffer');
const run = promisify(execFile);

export type Values = Record<string, unknown>;
export const MINIMAL: Values = {
  baseUrl: 'https://coffer.example.com',
  'image.repository': 'registry.example.com/coffer',
  'rootKey.existingSecret': 'coffer-root',
};
export const POSTGRES: Values = { ...MINIMAL, 'database.existingSecret': 'coffer-database' };

export interface Rendered {
  kind: string;
  name: string;
  text: string;
}

const setting = (values: Values) =>
  Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);

/** What the chart installs; throws with Helm's message if it refuses the values, and Unavailable where Helm cannot be had. */
export async function rendered(values: Values): Promise<Rendered[]> {
  const helm = await builtProgram(HELM);
  const version = ['--kube-version', KUBE_APISERVER.version];
  const { stdout } = await run(helm, ['template', 'prod', CHART, '-n', 'coffer', ...version, ...setting(values)]);
  return stdout
    .split(/^---$/m)
    .filter((text) => /^kind:/m.test(text))
    .map((text) => ({
      kind: /^kind: (\w+)$/m.exec(text)?.[1] ?? '',
      name: /^ {2}name: (\S+)$/m.exec(text)?.[1] ?? '',
      text,
    }));
}

export async function linted(values: Values): Promise<string> {
  const helm = await builtProgram(HELM);
  const version = ['--kube-version', KUBE_APISERVER.version];
  return (await run(helm, ['lint', '--strict', CHART, ...version, ...setting(values)])).stdout;
}
