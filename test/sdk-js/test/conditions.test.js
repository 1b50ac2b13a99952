// Conditional headers.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

let container;
before(async () => {
  container = await azure.newContainer();
});

const hour = 3_600_000;

/** The conditions that hold for a blob with these properties, and those that do not. */
function conditionsFor({ etag, lastModified }) {
  const [past, future] = [-hour, hour].map((d) => new Date(lastModified.getTime() + d));
  return {
    met: [{ ifMatch: etag }, { ifMatch: '*' }, { ifNoneMatch: '"0xOTHER"' }, { ifModifiedSince: past }, { ifUnmodifiedSince: future }],
    unmetMatch: [{ ifMatch: '"0xOTHER"' }, { ifUnmodifiedSince: past }],
    unmetNoneMatch: [{ ifNoneMatch: etag }, { ifModifiedSince: future }],
  };
}

test('writes are made under conditions that hold, and only then', async () => {
  for (const [what, call] of [
    ['upload', (blob, conditions) => azure.write(blob, 'new', { conditions })],
    ['setMetadata', (blob, conditions) => blob.setMetadata({ a: 'b' }, { conditions })],
    ['setHTTPHeaders', (blob, conditions) => blob.setHTTPHeaders({}, { conditions })],
    ['commitBlockList', (blob, conditions) => blob.commitBlockList([], { conditions })],
    ['createSnapshot', (blob, conditions) => blob.createSnapshot({ conditions })],
    ['delete', (blob, conditions) => blob.delete({ conditions, deleteSnapshots: 'include' })],
  ]) {
    const blob = await azure.newBlob(container);
    const { unmetMatch, unmetNoneMatch } = conditionsFor(await blob.getProperties());
    for (const conditions of [...unmetMatch, ...unmetNoneMatch]) {
      await refused(call(blob, conditions), 412, 'ConditionNotMet', `${what} with ${JSON.stringify(conditions)}`);
    }
    assert.equal(await azure.read(blob), 'hello', `${what} wrote although its condition did not hold`);
    for (const i of [0, 1, 2, 3, 4]) {
      const fresh = await azure.newBlob(container);
      await call(fresh, conditionsFor(await fresh.getProperties()).met[i]);
    }
  }
});

test('reads answer 304 if unchanged, and 412 if another was expected', async () => {
  const blob = await azure.newBlob(container);
  const { met, unmetMatch, unmetNoneMatch } = conditionsFor(await blob.getProperties());
  for (const [what, call] of [
    ['download', (conditions) => blob.download(0, undefined, { conditions })],
    ['getProperties', (conditions) => blob.getProperties({ conditions })],
  ]) {
    for (const conditions of met) await call(conditions);
    for (const conditions of unmetMatch) {
      await refused(call(conditions), 412, 'ConditionNotMet', `${what} with ${JSON.stringify(conditions)}`);
    }
    for (const conditions of unmetNoneMatch) {
      const error = await call(conditions).then(() => assert.fail(`${what} was answered`), (e) => e);
      assert.equal(error.statusCode, 304, `${what} with ${JSON.stringify(conditions)}`);
    }
  }
});

test('only one of many creates a blob', async () => {
  const name = azure.uniqueName('race');
  const blob = container.getBlockBlobClient(name);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      azure.write(blob, `writer ${i}`, { conditions: { ifNoneMatch: '*' } }).then(() => i, (e) => `${e.statusCode} ${e.code}`),
    ),
  );
  const winners = outcomes.filter((o) => typeof o === 'number');
  assert.equal(winners.length, 1, String(outcomes));
  assert.deepEqual([...new Set(outcomes.filter((o) => typeof o === 'string'))], ['409 BlobAlreadyExists']);
  assert.equal(await azure.read(blob), `writer ${winners[0]}`);
});

test('only one of many replaces what it read', async () => {
  const blob = await azure.newBlob(container);
  const { etag } = await blob.getProperties();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      azure.write(blob, `writer ${i}`, { conditions: { ifMatch: etag } }).then(() => i, (e) => `${e.statusCode} ${e.code}`),
    ),
  );
  assert.equal(outcomes.filter((o) => typeof o === 'number').length, 1, String(outcomes));
  assert.deepEqual([...new Set(outcomes.filter((o) => typeof o === 'string'))], ['412 ConditionNotMet']);
});

test('the lease is checked before the conditions', async () => {
  const blob = await azure.newBlob(container);
  await blob.getBlobLeaseClient(randomUUID()).acquireLease(-1);
  await refused(azure.write(blob, 'x', { conditions: { ifNoneMatch: '*' } }), 412, 'LeaseIdMissing');
  await refused(azure.write(blob, 'x', { conditions: { ifMatch: '"0xOTHER"' } }), 412, 'LeaseIdMissing');
});

test('lease operations check conditions too', async () => {
  const blob = await azure.newBlob(container);
  const { etag } = await blob.getProperties();
  const lease = blob.getBlobLeaseClient(randomUUID());
  await refused(lease.acquireLease(-1, { conditions: { ifMatch: '"0xOTHER"' } }), 412, 'ConditionNotMet');
  await lease.acquireLease(-1, { conditions: { ifMatch: etag } });
});
