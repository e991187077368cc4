import type { SettingGroup } from '../../settings/setting-group.ts';
import type { CredentialScheme } from '../auth/authentication.ts';
import type { ApprovalHooks, ApprovalKind } from '../endpoint/approval.ts';
import type { AnyAuthenticatedTable } from '../integrity/authenticated-table.ts';
import type { BackgroundWorker } from '../jobs/due-work.ts';
import type { Job } from '../jobs/job-runner.ts';
import type { Handlers } from '../request/binding.ts';
import type { Kernel } from '../request/kernel.ts';
import type { Announcers, Linked, Needs, Provided, Removes, Shared, SharedInstance, Subscription } from './links.ts';

/** What a feature is and touches, once, as data. A field that is left out means none. */
export interface FeatureDeclaration<
  Contract extends object,
  N extends Needs,
  R extends Removes,
  U extends keyof Kernel,
> {
  readonly name: string;
  /** The contract: a module that exports the declaration of each endpoint. */
  readonly endpoints?: Contract;
  /** The tables that belong to the feature. */
  readonly tables?: FeatureTables;
  /** The prefixes of its identifiers. */
  readonly ids?: readonly string[];
  /** The settings of the service that are its own. It reads them with `config.of`. */
  readonly settings?: readonly SettingGroup[];
  /** The services of the kernel that it uses. */
  readonly uses?: readonly U[];
  /** What it needs of features that import it, or that make what several share. */
  readonly needs?: N;
  /** What it removes for good, about which other features may hold something. */
  readonly removes?: R;
  /** What it makes for several features; `build` returns the instances. */
  readonly shares?: readonly Shared<never>[];
  /** Builds the feature. It may store what it is given, but not use it yet: other features may not exist, and the kernel may not be open. */
  build(parts: Parts<N, R, U>): Built<Contract>;
}

/** Tables by whether their rows carry a MAC. A table whose rows carry none says why. */
export interface FeatureTables {
  readonly authenticated?: readonly unknown[];
  readonly plain?: Readonly<Record<string, string>>;
}

/** Exactly what a feature declared. */
export type Parts<N extends Needs, R extends Removes, U extends keyof Kernel> = Pick<Kernel, U> &
  Linked<N> &
  Announcers<R>;

/** What runs of a feature. */
export interface Built<Contract extends object = object> {
  readonly handlers?: Handlers<Contract>;
  readonly jobs?: readonly Job[];
  /** Started once the service listens, and stopped before the database is closed. */
  readonly workers?: readonly BackgroundWorker[];
  readonly provides?: readonly Provided[];
  readonly shares?: readonly SharedInstance[];
  /** What it deletes when another feature removes something for good. */
  readonly removals?: readonly Subscription[];
  /** How it marks a resource whose change waits for approval. */
  readonly approvalHooks?: Partial<Record<ApprovalKind, ApprovalHooks>>;
  readonly credentialSchemes?: readonly CredentialScheme[];
  /** Loads what the feature needs before the service listens; throws a StartError that says what to do. */
  open?(): Promise<void>;
  /** Starts the feature's background work, once the service listens. */
  started?(): void;
  /** Resolves once the feature's background work has ended. It is awaited before the database is closed. */
  settled?(): Promise<void>;
}

/** A declaration whose types are checked already. */
export interface DeclaredFeature {
  readonly name: string;
  readonly contract: object;
  readonly authenticatedTables: readonly AnyAuthenticatedTable[];
  readonly plainTables: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
  readonly settings: readonly SettingGroup[];
  readonly uses: readonly (keyof Kernel)[];
  readonly needs: Needs;
  readonly removes: Removes;
  readonly shares: readonly string[];
  build(parts: object): Built;
}

/** Declares a feature. The list of features, their endpoints, tables and connections are derived from what this returns. */
export function feature<
  const Contract extends object = object,
  const N extends Needs = Record<never, never>,
  const R extends Removes = Record<never, never>,
  const U extends keyof Kernel = never,
>(declared: FeatureDeclaration<Contract, N, R, U>): DeclaredFeature {
  const { name, endpoints = {}, tables = {}, ids = [], settings = [] } = declared;
  const { uses = [], needs = {}, removes = {}, shares = [] } = declared;
  return {
    name,
    contract: endpoints,
    authenticatedTables: (tables.authenticated ?? []) as readonly AnyAuthenticatedTable[],
    plainTables: tables.plain ?? {},
    ids,
    settings,
    uses,
    needs,
    removes,
    shares: shares.map((part) => part.name),
    build: (parts) => declared.build(parts as Parts<N, R, U>) as unknown as Built,
  };
}
