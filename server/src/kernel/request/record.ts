import type { AuditDecision, AuditEntry } from '../audit/entry/entry.ts';
import { elsewhere, type Outcome, requestEntry } from '../audit/entry/request-entry.ts';
import type { RoutedCall } from '../auth/call.ts';
import type { Caller } from './caller.ts';

/** What the audit log will say about a request. */
export class RequestRecord {
  readonly #request: RoutedCall;
  readonly #caller: Caller;
  readonly #operatorTenantId: string;
  #resource: string;
  #details: Record<string, unknown> | undefined;
  #furtherEntries: AuditEntry[] = [];
  #isUnrecorded = false;
  #unlistedReads: Map<string, number> | null = null;

  /** `operatorTenantId` is the tenant in whose log requests are recorded that belong to no tenant. */
  constructor(request: RoutedCall, caller: Caller, operatorTenantId: string) {
    this.#request = request;
    this.#caller = caller;
    this.#operatorTenantId = operatorTenantId;
    // The query is left out, because people put secrets there.
    const { url } = request.call;
    const query = url.indexOf('?');
    this.#resource = query === -1 ? url : url.slice(0, query);
  }

  /** The resource that was last decided on, or that is requested. */
  get resource(): string {
    return this.#resource;
  }

  setResource(resource: string): void {
    this.#resource = resource;
  }

  get details(): Readonly<Record<string, unknown>> | undefined {
    return this.#details;
  }

  /** Adds to the audit entry. Only names, ids and counts are allowed, never secret values. */
  describe(details: Record<string, unknown>): void {
    this.#details = { ...this.#details, ...details };
  }

  /** Adds one audit entry for each object that a request about many reads or changes, so that each can be found by its own name. */
  addEntry(action: string, resource: string, details?: Record<string, unknown>): void {
    this.#furtherEntries.push(this.separateEntry(action, resource, details));
  }

  /** Like `addEntry`, for a caller that records the entry in a separate transaction, which stays committed however the request ends. */
  separateEntry(action: string, resource: string, details?: Record<string, unknown>): AuditEntry {
    const { status } = this.#request.declaration;
    const entry = this.#entryOf({ resource, decision: 'allow', status, reason: '', details });
    entry.action = action;
    return entry;
  }

  /** The entries of a request that is part of this one. */
  addEntriesOf(part: RequestRecord, status: number): void {
    this.#furtherEntries.push(...part.takeEntries(status));
  }

  /**
   * A vault can be set so that successful reads of its ordinary secrets are counted instead of recorded. Refusals and changes are always recorded.
   */
  leaveUnrecorded(vault: string, reads: number): void {
    this.leaveOut();
    this.countUnlisted(vault, reads);
  }

  /** For a success that tells nothing worth a record, such as one of thousands of scrapes a day. */
  leaveOut(): void {
    if (this.#request.declaration.effect !== 'read') throw new Error('a change is always recorded');
    this.#isUnrecorded = true;
  }

  /** For a request that is itself recorded but also reads from vaults whose reads are only counted. */
  countUnlisted(vault: string, reads: number): void {
    this.#unlistedReads ??= new Map();
    this.#unlistedReads.set(vault, (this.#unlistedReads.get(vault) ?? 0) + reads);
  }

  get isUnrecorded(): boolean {
    return this.#isUnrecorded;
  }

  /** Number of reads per vault that are counted instead of recorded one by one. */
  get unlistedReads(): ReadonlyMap<string, number> | null {
    return this.#unlistedReads;
  }

  entry(decision: AuditDecision, status: number, reason: string): AuditEntry {
    return this.#entryOf({ resource: this.#resource, decision, status, reason, details: this.#details });
  }

  #entryOf(outcome: Outcome): AuditEntry {
    const tenantId = this.#caller.tenantIdOrNull ?? this.#operatorTenantId;
    return requestEntry(tenantId, this.#caller.actor, this.#request, outcome);
  }

  /** The audit entry of this request, for the log of another tenant that the change is about. */
  entryFor(tenantId: string): AuditEntry {
    return elsewhere(this.entry('allow', this.#request.declaration.status, ''), tenantId);
  }

  get hasAddedEntries(): boolean {
    return this.#furtherEntries.length > 0;
  }

  /** The entry of a request that succeeded and those that were added to it. An added entry is returned once: an export has thousands. */
  takeEntries(status: number): AuditEntry[] {
    const entries = [this.entry('allow', status, ''), ...this.#furtherEntries];
    this.#furtherEntries = [];
    return entries;
  }

  /** Called when a transaction begins: a retried transaction adds its entries again. */
  dropAddedEntries(): void {
    this.#furtherEntries = [];
  }
}
