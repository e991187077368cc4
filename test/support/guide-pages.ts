import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../docs/guide');

export const guidePages = readdirSync(FOLDER).filter((file) => file.endsWith('.md') && file !== 'README.md');

export function readGuidePage(page: string): string {
  return readFileSync(join(FOLDER, page), 'utf8');
}

/** The blocks of one language, in order: `sh` is what a reader would paste. */
export function blocksOf(page: string, language: 'sh' | 'yaml'): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...readGuidePage(page).matchAll(fence)].map((match) => String(match[1]));
}

const FOLDED = /^<details><summary>With curl<\/summary>\n(.*?)^<\/details>$/gms;
/** A block with what is folded directly below it, which does the same. */
const WITH_FOLDED = /^```sh\n(?:(?!^```).)*?^```\n\n(<details><summary>With curl<\/summary>\n.*?^<\/details>)$/gms;

export type Way = 'the command line' | 'curl';

/** What a reader pastes who follows the page by the command line, or by curl where that is folded beside it. */
export function examplesOf(page: string, way: Way): string[] {
  const text = readGuidePage(page);
  const chosen = way === 'curl' ? text.replaceAll(WITH_FOLDED, '$1') : text.replaceAll(FOLDED, '');
  return shellBlocksIn(chosen);
}

/** Whether the page has examples for both. */
export function hasBothWays(page: string): boolean {
  return readGuidePage(page).match(FOLDED) !== null;
}

function shellBlocksIn(text: string): string[] {
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => String(match[1]));
}

/** The settings a page asks its reader to start the service with: `CV_NAME=value npm start`. */
export function settingsOf(page: string): Record<string, string> {
  const commands = [...readGuidePage(page).matchAll(/`((?:CV_[A-Z_]+=\S+ )+)npm start`/g)].map((match) =>
    String(match[1]),
  );
  const settings = commands.flatMap((text) => [...text.matchAll(/(CV_[A-Z_]+)=(\S+)/g)]);
  return Object.fromEntries(settings.map(([, name, value]) => [String(name), String(value)]));
}
