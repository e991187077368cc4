import type { FingerprintKey } from '../secrets/value/index.ts';

/** Passwords that every guessing tool tries first, and defaults of products. */
const COMMON_VALUES = [
  '000000 0000000000 102030 111111 11111111 112233 121212 123123 123123123 1234 12345 123456 1234567 12345678 123456789',
  '1234567890 123321 123qwe 1q2w3e 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 222222 555555 654321 666666 696969 777777 888888 987654321',
  'Aa123456 Aa123456! Admin123 Admin@123 P@$$w0rd P@ssw0rd P@ssword Pa$$w0rd Passw0rd Passw0rd! Password Password1 Password1!',
  'Password123 Password123! Qwerty123 Welcome1 Welcome123 abc123 abcd1234 abcdef access admin admin1 admin123 administrator',
  'adminadmin admin@123 asdfgh asdfghjkl azerty baseball batman changeit changeme changeme1 changeme123 change-me charlie cisco',
  'daniel default demo dragon elastic example fakepassword flower football foobar freedom guest hello hello123 hunter hunter2',
  'iloveyou jordan kafka keycloak letmein letmein1 login love master michael minioadmin monkey monkey123 mustang mysecret',
  'mysecretpassword mysql neo4j nopassword ninja oracle pass pass123 pass1234 passw0rd passwd password password! password1',
  'password12 password123 password1234 p@ssw0rd p@ssword postgres princess qazwsx qwe123 qwerty qwerty1 qwerty123 qwertyuiop',
  'rabbitmq redis root root123 rootpassword rootroot sa secret secret1 secret123 secretpassword shadow starwars sunshine superman',
  'supersecret sysadmin system temp temp123 test test1 test123 test1234 testing testpassword tomcat toor trustno1 user vagrant',
  'welcome welcome1 welcome123 whatever zabbix zaq12wsx zxcvbnm',
].flatMap((line) => line.split(' '));

/** Their fingerprints under the key of a tenant, in hexadecimal: a common value is found without opening any. */
export function commonFingerprints(key: FingerprintKey): ReadonlySet<string> {
  return new Set(COMMON_VALUES.map((value) => key.ofValue(value).toString('hex')));
}
