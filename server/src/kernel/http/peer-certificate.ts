/** The client certificate of a request. That its holder has the key was proven in the handshake; nothing else about it is checked yet. */
export interface PeerCertificate {
  /** The leaf. */
  readonly der: Uint8Array;
  /** What else was sent, the leaf not included. */
  readonly chain: readonly Uint8Array[];
  /** base64url of the leaf's SHA-256, as `cnf["x5t#S256"]` has it. */
  readonly thumbprint: string;
}
