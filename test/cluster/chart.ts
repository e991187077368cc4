import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtProgram, HELM } from './go-programs.ts';

const CHART = join(import.meta.dirname, '../../deploy/operator/chart');
const run = promisify(execFile);

export interface Manifest {
  kind: string;
  name: string;
  namespace: string;
  text: string;
}

/** What the chart of the operator installs in the namespace `coffer`. Throws Unavailable where Helm cannot be had. */
export async function renderedChart(values: Record<string, unknown>): Promise<Manifest[]> {
  const helm = await builtProgram(HELM);
  const all = { url: 'https://coffer.example', clusterId: 'cluster_01a', image: 'coffer-agent:test', ...values };
  const set = Object.entries(all).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
  const { stdout } = await run(helm, ['template', 'operator', CHART, '--namespace', 'coffer', ...set]);
  return manifestsOf(stdout);
}

export async function lintChart(): Promise<string> {
  const { stdout } = await run(await builtProgram(HELM), [
    'lint',
    '--strict',
    CHART,
    '--set',
    'url=https://x,clusterId=c,image=i',
  ]);
  return stdout;
}

/** The documents of a YAML file; what they hold is checked by the API server. */
export function manifestsOf(yaml: string): Manifest[] {
  return yaml
    .split(/^---$/m)
    .filter((text) => /^kind:/m.test(text))
    .map((text) => {
      const [, kind = ''] = /^kind: (\w+)$/m.exec(text) ?? [];
      const [, name = '', namespace = ''] = /^metadata:\n {2}name: (\S+)\n {2}namespace: (\S+)$/m.exec(text) ?? [];
      return { kind, name, namespace, text };
    });
}
