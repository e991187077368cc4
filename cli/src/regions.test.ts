import { after, before, test } from 'node:test';
import { runCliScript } from '../../test/support/cli-script.ts';
import { addTenant, type Tenant } from '../../test/support/people.ts';
import { TestRegions } from '../../test/support/regions.ts';
import { onBothDatabases, type Service } from '../../test/support/service.ts';

const NAMES = ['eu', 'us'];

/** A region without its lease changes nothing and answers 503, with which the command ends with 2: then it is tried again. */
const SCRIPT = `
--- with-lease
#!/bin/sh
for i in $(seq 300); do
  "$@" && exit 0
  code=$?
  [ $code = 2 ] || exit $code
  sleep 0.1
done
exit 2
---
$ chmod +x with-lease && printf %s "$TOKEN" | coffer login --url "$EU_URL" --token && printf %s "$US_TOKEN" | coffer --profile us login --url "$US_URL" --token
$ coffer regions
> TENANT ... REGION ... STATE ... EPOCH ... SINCE ... MISSING HERE
> default ... none ...
> $TENANT ... none ...
$ ./with-lease coffer regions assign $TENANT us
? 3
2> <region> must be this region, eu...
!> /body
$ ./with-lease coffer regions assign nobody eu
? 4
2> There is no tenant with that name or id. coffer regions lists them.
$ ./with-lease coffer regions assign $TENANT eu
2> $TENANT belongs to eu.
$ coffer regions show $TENANT
> $TENANT: eu (...
> ...
$ coffer regions show $TENANT_ID --json | grep -c '"region": "eu"'
> 1
$ ./with-lease coffer regions promote $TENANT eu
? 1
2> error: required option '--reason <text>' not specified
$ ./with-lease coffer regions promote $TENANT eu --reason 'the other one is lost'
? 3
$ for i in $(seq 300); do coffer --profile us regions | grep -q "^$TENANT " && break; sleep 0.1; done; coffer --profile us regions show $TENANT
> $TENANT: eu (...
> no copy here
$ ./with-lease coffer --profile us regions promote $TENANT us --reason 'the other one is lost'
? 4
`;

onBothDatabases('coffer regions', (database) => {
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  let [eu, us]: Service[] = [];
  let tenant: Tenant;
  before(async () => {
    await regions.prepare('eu', async (service) => {
      tenant = await addTenant(service, { plan: 'enterprise' });
    });
    await regions.prepare('us');
    eu = await regions.start('eu', NAMES);
    us = await regions.start('us', NAMES);
  });
  after(() => regions.close());

  test('tenants are listed, assigned and promoted', async () => {
    const script = SCRIPT.replaceAll('$TENANT_ID', tenant.id).replaceAll('$TENANT', tenant.name);
    await runCliScript(script, {
      EU_URL: regions.urlOf('eu'),
      US_URL: regions.urlOf('us'),
      TOKEN: eu?.adminToken ?? '',
      US_TOKEN: us?.adminToken ?? '',
    });
  });
});
