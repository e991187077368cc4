import { serialize } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { JsonError, parseJson } from '../wire/json.ts';
import type { ListPart, ThreadAnswer, ThreadQuestion } from './json-thread.ts';

/** So many members are deserialized in about a millisecond. */
const PART_MEMBERS = 10_000;

/** The worker side of `JsonThread`. */
parentPort?.on('message', (question: ThreadQuestion) => {
  const answer = answerTo(question);
  const buffers = 'parts' in answer ? answer.parts.map(({ elements }) => elements.buffer) : [];
  parentPort?.postMessage(answer, buffers);
});

function answerTo({ bytes, membersMax }: ThreadQuestion): ThreadAnswer {
  try {
    const value = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), membersMax);
    return { value, parts: extractLists(value) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    throw error;
  }
}

/** Moves the elements of an object's large lists into parts, and leaves the lists empty. */
function extractLists(value: unknown): ListPart[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([list, elements]) =>
    Array.isArray(elements) && membersIn(elements) > PART_MEMBERS
      ? partsOf(elements.splice(0)).map((part) => ({ list, elements: new Uint8Array(serialize(part)) }))
      : [],
  );
}

function partsOf(elements: readonly unknown[]): unknown[][] {
  const parts: unknown[][] = [];
  let part: unknown[] = [];
  let members = 0;
  for (const element of elements) {
    part.push(element);
    members += 1 + membersIn(element);
    if (members < PART_MEMBERS) continue;
    parts.push(part);
    part = [];
    members = 0;
  }
  return part.length === 0 ? parts : [...parts, part];
}

function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return members.reduce((sum: number, member) => sum + membersIn(member), members.length);
}
