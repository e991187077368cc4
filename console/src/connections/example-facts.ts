export interface SecretPlace {
  readonly vault: string;
  readonly path: string;
}

export interface ExampleFacts {
  readonly url: string;
  readonly clientId: string;
  /** What its files are called. */
  readonly name: string;
  /** One secret, or all that it may read in these vaults. `secrets` are those that are known. */
  readonly reads: SecretPlace | { readonly vaults: readonly string[]; readonly secrets: readonly SecretPlace[] };
  readonly hasCertificate: boolean;
  /** The certificate of the service is from its own authority, whose certificates are in a file beside the client's. */
  readonly hasOwnAuthority: boolean;
  readonly hasDpop: boolean;
}
