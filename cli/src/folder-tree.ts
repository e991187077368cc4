import type { Branch } from './drawing.ts';

/** The secrets of a vault by the folders that their paths name. */
export interface FolderTree {
  name: string;
  /** Of this folder and all below it. */
  secrets_count: number;
  secrets: string[];
  folders: FolderTree[];
}

export function folderTree(name: string, secrets: Iterable<{ path: string }>): FolderTree {
  const root = newFolder(name);
  for (const { path } of secrets) add(root, path.split('/'));
  return root;
}

function newFolder(name: string): FolderTree {
  return { name, secrets_count: 0, secrets: [], folders: [] };
}

function add(folder: FolderTree, segments: readonly string[]): void {
  folder.secrets_count++;
  const [first = '', ...rest] = segments;
  if (rest.length === 0) return void folder.secrets.push(first);
  // Paths come in order, so the folder of this one is the last or a new one.
  let below = folder.folders.at(-1);
  if (below?.name !== first) {
    below = newFolder(first);
    folder.folders.push(below);
  }
  add(below, rest);
}

export function countText({ secrets_count: count }: FolderTree): string {
  return `, ${count} ${count === 1 ? 'secret' : 'secrets'}`;
}

/** Folders first. Below the last level a folder only says how many secrets it has. */
export function branchesOf(folder: FolderTree, levels: number): Branch[] {
  if (levels < 1) return [];
  return [
    ...folder.folders.map((below): Branch => {
      const text = `${below.name}/${levels <= 1 ? countText(below) : ''}`;
      return { text, branches: branchesOf(below, levels - 1) };
    }),
    ...folder.secrets.map((text): Branch => ({ text })),
  ];
}
