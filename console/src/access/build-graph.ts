import type { RouteOutput } from '@coffer/client';
import { type WayGraph, type WayNode, waysGraph } from '../plots/build-path-graph.ts';

export type AccessPath = RouteOutput<'GET /v1/access-paths'>['access_paths'][number];

export const COLUMNS = ['principal', 'credential', 'group', 'grant', 'vault', 'secret'] as const;
export type ColumnName = (typeof COLUMNS)[number];

/** What can be drawn of a way: its details are texts for people. */
export interface NodeTexts {
  readonly principals: Readonly<Record<AccessPath['principal']['kind'], string>>;
  readonly credentials: Readonly<Record<string, string>>;
  readonly grants: Readonly<Record<AccessPath['grant']['kind'], string>>;
  readonly roleIn: (role: string, vault: string) => string;
  readonly group: string;
  readonly vault: string;
  readonly secret: string;
  readonly weakness: (weakness: number) => string;
}

/** Two ways are the same if they lead through the same. */
export function keyOf({ principal, group, grant, vault, path }: AccessPath): string {
  return JSON.stringify([principal.id, group?.id, grant.kind, grant.name, grant.until, vault, path]);
}

/** All ways with everything they lead through, each thing once. With credentials a way is drawn for each of them. */
export function accessGraph(paths: readonly AccessPath[], withCredentials: boolean, texts: NodeTexts): WayGraph {
  return waysGraph(
    paths.flatMap((path) => {
      const key = keyOf(path);
      const { kind, id, name } = path.principal;
      const before = node('principal', [id], { name, detail: texts.principals[kind] });
      const after = rest(path, texts);
      if (!withCredentials || path.credentials.length === 0) return [{ key, weight: 1, nodes: [before, ...after] }];
      return path.credentials.map((credential, index) => ({
        // The weakest comes first, and stands for the way where only one is shown.
        key: index === 0 ? key : `${key} ${index}`,
        weight: credential.weakness + 1,
        nodes: [before, credentialNode(path, credential, texts), ...after],
      }));
    }),
  );
}

function credentialNode(
  { principal }: AccessPath,
  { type, id, name, weakness }: AccessPath['credentials'][number],
  texts: NodeTexts,
): WayNode {
  const kind = texts.credentials[type] ?? type;
  const identity = [principal.id, type, id];
  return node('credential', identity, {
    name: name === '' ? kind : name,
    detail: `${kind}, ${texts.weakness(weakness)}`,
  });
}

function rest({ principal, group, grant, vault, environment, path }: AccessPath, texts: NodeTexts): WayNode[] {
  // A role in the tenant and a policy are the same everywhere; a role in a vault and what a connection may do are not.
  const isEverywhere = grant.kind === 'role' || grant.kind === 'policy';
  const place = isEverywhere ? '' : grant.kind === 'connection' ? principal.id : vault;
  return [
    ...(group === null ? [] : [node('group', [group.id], { name: group.name, detail: texts.group })]),
    node('grant', [grant.kind, grant.name, place], {
      name: place === vault ? texts.roleIn(grant.name, vault) : grant.name,
      detail: texts.grants[grant.kind],
    }),
    node('vault', [vault], { name: vault, detail: environment ?? texts.vault }),
    ...(path === null
      ? []
      : [node('secret', [vault, path], { name: path, detail: texts.secret, fullName: `${vault}/${path}` })]),
  ];
}

interface NodeLabel {
  readonly name: string;
  readonly detail: string;
  readonly fullName?: string;
}

function node(column: ColumnName, identity: readonly string[], { name, detail, fullName = name }: NodeLabel): WayNode {
  return {
    id: JSON.stringify([column, ...identity]),
    column: COLUMNS.indexOf(column),
    weight: 0,
    name,
    detail,
    fullName,
  };
}
