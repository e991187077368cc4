import type { Call, RoutedCall } from '../auth/call.ts';
import type { Principal } from '../auth/principal.ts';
import { type ApprovalKind, AwaitsApproval, type PendingApproval, type Proposal } from '../endpoint/approval.ts';
import { type EndpointDeclaration, NONE, workOf } from '../endpoint/declaration.ts';
import type { Database, Tx } from '../storage/database.ts';
import { TracedDatabase } from '../storage/traced-database.ts';
import { Access, type CallerSource } from './access.ts';
import { Caller } from './caller.ts';
import type { Kernel } from './kernel.ts';
import { RequestRecord } from './record.ts';

/** What became of a change: it was committed, or it waits for approval. */
export type Outcome<T> = { kind: 'committed'; result: T } | { kind: 'pending'; approval: PendingApproval };

/** How a request makes its change: in a transaction of its own, or in that of the request that completes its approval. */
export interface ChangeStrategy extends CallerSource {
  /** Whether the request was approved and is carried out now. */
  readonly isApproved: boolean;
  /** Runs the change in a transaction and records it there. */
  commit<T>(ctx: Context, act: (tx: Tx) => Promise<T>): Promise<Outcome<T>>;
  /** Throws unless the change may be made now. */
  requireApproval(ctx: Context, kind: ApprovalKind, proposal: Proposal): Promise<void>;
}

/** One request: its sender (`caller`), its content (`call`), the rights of the sender (`access`) and its audit entry (`record`). */
export class Context implements RoutedCall {
  readonly kernel: Kernel;
  readonly declaration: EndpointDeclaration;
  readonly caller = new Caller();
  readonly record: RequestRecord;
  readonly access: Access;
  readonly #strategy: ChangeStrategy;
  readonly #replyHeaders: Record<string, string> = {};
  #call: Call;
  #now: number;
  #requestedList: string | null = null;
  #tenantDatabase: { tenantId: string; database: Database } | null = null;
  #tx: Tx | null = null;
  #outcome: Outcome<unknown> | null = null;

  constructor(kernel: Kernel, declaration: EndpointDeclaration, call: Call, strategy: ChangeStrategy) {
    this.kernel = kernel;
    this.declaration = declaration;
    this.#call = call;
    this.#now = kernel.clock.now();
    this.#strategy = strategy;
    this.record = new RequestRecord(this, this.caller, kernel.operatorTenantId);
    this.access = new Access(this, this.caller, this.record, strategy);
  }

  get call(): Call {
    return this.#call;
  }

  get now(): number {
    return this.#now;
  }

  get principal(): Principal {
    return this.caller.principal;
  }

  get tenantId(): string {
    return this.caller.tenantId;
  }

  /** The database with the tenant's own queue, so that its queries alternate with those of other tenants. */
  get database(): Database {
    const { kernel, declaration } = this;
    const { tenantIdOrNull: tenantId } = this.caller;
    if (tenantId === null) return kernel.database;
    if (this.#tenantDatabase?.tenantId !== tenantId) {
      const database = kernel.database.forTenant(tenantId, workOf(declaration));
      const { trace } = this.call;
      this.#tenantDatabase = { tenantId, database: trace ? new TracedDatabase(database, trace) : database };
    }
    return this.#tenantDatabase.database;
  }

  /** Readable only by endpoints that declare it: approvals and repeated requests store the header only if the declaration says so. */
  get ifMatch(): string | undefined {
    if (this.declaration.ifMatch !== true) throw new Error(`${this.declaration.name} declares no If-Match`);
    return this.call.headers['if-match'];
  }

  /** Like `ifMatch`: readable only by endpoints that declare it. */
  get ifNoneMatch(): string | undefined {
    if (this.declaration.ifNoneMatch !== true) throw new Error(`${this.declaration.name} declares no If-None-Match`);
    return this.call.headers['if-none-match'];
  }

  /** The bytes of the body as they were sent, empty if there are none. Like `ifMatch`: readable only by endpoints that declare it. */
  get rawBody(): Buffer {
    if (this.declaration.rawBody !== true) throw new Error(`${this.declaration.name} declares no raw body`);
    return Buffer.isBuffer(this.call.body) ? this.call.body : Buffer.alloc(0);
  }

  /** Called when the body has arrived, which is the time of the request. */
  receive(body: unknown): void {
    this.#call = { ...this.#call, body };
    this.#now = this.kernel.clock.now();
  }

  /** The requested list with its filters; null if the request is not for a list. */
  get requestedList(): string | null {
    return this.#requestedList;
  }

  requestList(list: string): void {
    this.#requestedList = list;
  }

  /** Headers that the handler adds to a successful response. */
  get replyHeaders(): Readonly<Record<string, string>> {
    return this.#replyHeaders;
  }

  setHeader(name: string, value: string): void {
    this.#replyHeaders[name] = value;
  }

  /**
   * Runs the change and records it in the same transaction. The result of `act` is the response: the handler must return it unchanged, because that
   * transaction also stores it for a repeated Idempotency-Key.
   */
  async change<T>(act: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.declaration.effect !== 'change') throw new Error(`${this.declaration.name} is declared to change nothing`);
    if (this.#outcome !== null) throw new Error('one request makes one change');
    const outcome = await this.#strategy.commit(this, (tx) => {
      this.#tx = tx;
      return act(tx);
    });
    this.#outcome = outcome;
    if (outcome.kind === 'pending') throw new AwaitsApproval();
    return outcome.result;
  }

  /**
   * The last step of a change that needs a second person, after everything is checked and written. If the change must wait, it is rolled back, the
   * request is stored and the response is 202; once approved, the same code runs again. If the caller is the only one who could approve, a change
   * that is not destructive goes ahead. Whatever `proposal` states must still hold when the approved change runs.
   */
  async needsApproval(tx: Tx, proposal: Proposal = {}): Promise<void> {
    const { approval, name } = this.declaration;
    if (approval === NONE) throw new Error(`${name} is declared to need no approval`);
    if (tx !== this.#tx) throw new Error('an approval is asked for inside ctx.change');
    await this.#strategy.requireApproval(this, approval, proposal);
  }

  /** Whether the request was approved by another person and is carried out now. */
  get isApproved(): boolean {
    return this.#strategy.isApproved;
  }

  /** Null until the change and its audit entry are committed. */
  get outcome(): Outcome<unknown> | null {
    return this.#outcome;
  }

  /** The response, if the change waits for approval. */
  get pending(): PendingApproval | null {
    return this.#outcome?.kind === 'pending' ? this.#outcome.approval : null;
  }
}
