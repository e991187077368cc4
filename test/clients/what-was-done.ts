/** What a program did with a generated client, and what came back: the same for each of them. */
export interface WhatWasDone {
  vault: { id: string; name: string; environment: string };
  /** Made, then read. */
  secret: { path: string; version: number; value: string };
  /** After a change of its metadata. */
  tags: string[];
  listed: string[];
  deleted: boolean;
  missing: Refusal;
  invalid: Refusal;
  /** The first line of the root certificate; null: the client has no text but JSON. */
  text: string | null;
  /** How many bytes the revocation list has, and what it begins with; null: the client reads every answer as text. */
  binary: { size: number; first: number } | null;
}

export interface Refusal {
  status: number;
  code: string;
  message: string;
  request_id: string;
  pointers: string[];
}

/** What every generated type of a refusal must have. */
export interface RefusedBecause {
  code: string;
  message: string;
  request_id: string;
  details?: { fields?: { pointer: string }[] };
}

export function refusal(status: number, { code, message, request_id, details }: RefusedBecause): Refusal {
  return { status, code, message, request_id, pointers: (details?.fields ?? []).map(({ pointer }) => pointer) };
}

export function otherwise(): never {
  throw new Error('the service answered otherwise than was asked');
}

export interface Service {
  baseUrl: string;
  token: string;
  tenantId: string;
  vault: string;
}

/** Whether a type has a member of this name; of `any` it has every one. A value of the wrong kind does not compile. */
export type HasMember<T, Name extends string> = Name extends keyof T ? true : false;
