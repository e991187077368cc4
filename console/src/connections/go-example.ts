import type { ExampleFacts } from './example-facts.ts';

const REFUSE = ['if err != nil {', '\tlog.Fatal(err)', '}'];

/** A program in Go that reads a secret, or all of its secrets, with its connection. */
export function goCode(facts: ExampleFacts): string {
  const { url, clientId, hasCertificate, hasOwnAuthority } = facts;
  const packages = [
    'context',
    ...(hasCertificate ? ['crypto/tls', ...(hasOwnAuthority ? ['crypto/x509'] : [])] : []),
    'log',
    ...(hasCertificate ? ['net/http'] : []),
    'os',
  ];
  const body = [
    ...(hasCertificate ? certificate(facts) : []),
    `client, err := coffer.New("${url}", coffer.Options{`,
    `\tClientID:     "${clientId}",`,
    '\tClientSecret: os.Getenv("COFFER_CLIENT_SECRET"),',
    ...(hasCertificate ? ['\tHTTP:         &http.Client{Transport: &http.Transport{TLSClientConfig: config}},'] : []),
    '})',
    ...REFUSE,
    'values := map[string]string{}',
    ...reading(facts),
  ];
  return `package main

import (
${packages.map((name) => `\t"${name}"\n`).join('')}
	coffer "coffer.dev/go"
)

func main() {
${body.map((line) => `\t${line}\n`).join('')}}
`;
}

function reading({ reads }: ExampleFacts): string[] {
  if ('path' in reads) {
    return [
      `secret, err := client.Get(context.Background(), "${reads.vault}", "${reads.path}", 0)`,
      ...REFUSE,
      `values["${reads.vault}/${reads.path}"] = secret.Value()`,
    ];
  }
  return [
    `for _, vault := range []string{${reads.vaults.map((vault) => `"${vault}"`).join(', ')}} {`,
    '\tlisted, err := client.List(context.Background(), vault, "")',
    ...indented(REFUSE),
    '\tfor _, each := range listed {',
    '\t\tsecret, err := client.Get(context.Background(), vault, each.Path, 0)',
    ...indented(indented(REFUSE)),
    '\t\tvalues[vault+"/"+each.Path] = secret.Value()',
    '\t}',
    '}',
  ];
}

function certificate({ name, hasOwnAuthority }: ExampleFacts): string[] {
  return [
    `pair, err := tls.LoadX509KeyPair("${name}.crt", "${name}.key")`,
    ...REFUSE,
    'config := &tls.Config{Certificates: []tls.Certificate{pair}}',
    ...(hasOwnAuthority
      ? [
          `authority, err := os.ReadFile("${name}-ca.pem")`,
          ...REFUSE,
          'config.RootCAs = x509.NewCertPool()',
          'config.RootCAs.AppendCertsFromPEM(authority)',
        ]
      : []),
  ];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `\t${line}`);
}
