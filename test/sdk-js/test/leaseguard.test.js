// Which writes and reads a lease refuses, in each of its states.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A, B, expectState, expiry, leasesOf, states } from '../lib/leases.js';

const [present, mismatch, missing] = ['LeaseNotPresentWithBlobOperation', 'LeaseIdMismatchWithBlobOperation', 'LeaseIdMissing'];
const block = Buffer.from('block').toString('base64');

/** Every call that changes a block blob, made with an id or without one. */
const writes = {
  upload: (blob, conditions) => azure.write(blob, 'new', { conditions }),
  stageBlock: (blob, conditions) => blob.stageBlock(block, 'new', 3, { conditions }),
  commitBlockList: (blob, conditions) => blob.commitBlockList([], { conditions }),
  setMetadata: (blob, conditions) => blob.setMetadata({ a: 'b' }, { conditions }),
  setHTTPHeaders: (blob, conditions) => blob.setHTTPHeaders({}, { conditions }),
  copy: async (blob, conditions) => blob.syncCopyFromURL(await source, { conditions }),
  delete: (blob, conditions) => blob.delete({ conditions }),
};

const reads = {
  download: (blob, conditions) => blob.download(0, undefined, { conditions }),
  getProperties: (blob, conditions) => blob.getProperties({ conditions }),
  getBlockList: (blob, conditions) => blob.getBlockList('all', { conditions }),
};

/** What each state answers to the holder's id, to another id and to none; null is yes. */
const writeRules = {
  available: [present, present, null],
  leased: [null, mismatch, missing],
  breaking: [null, mismatch, missing],
  broken: [present, present, null],
  expired: [present, present, null],
};
const readRules = {
  available: [present, present, null],
  leased: [null, mismatch, null],
  breaking: [null, mismatch, null],
  broken: [present, present, null],
  expired: [present, present, null],
};

const ids = [['the id', { leaseId: A }], ['another id', { leaseId: B }], ['no id', undefined]];

const container = azure.newContainer({ access: 'blob' });
const source = container.then((c) => azure.newBlob(c, 'source', 'copied')).then((blob) => blob.url);
const newBlob = async () => azure.newBlob(await container);

async function check(call, blob, conditions, code, name) {
  if (code) await refused(call(blob, conditions), 412, code, name);
  else await call(blob, conditions);
}

for (const state of ['available', 'leased', 'breaking', 'broken']) {
  describe(`a blob whose lease is ${state}`, { concurrency: 3 }, () => {
    for (const [what, call] of Object.entries(writes)) {
      test(what, async () => {
        for (const [i, [who, conditions]] of ids.entries()) {
          const blob = await newBlob();
          await states[state](leasesOf(blob));
          const code = writeRules[state][i];
          await check(call, blob, conditions, code, `${what} with ${who}`);
          if (code) assert.equal(await azure.read(blob), 'hello', `${what} with ${who} was refused and written all the same`);
        }
      });
    }
    for (const [what, call] of Object.entries(reads)) {
      test(what, async () => {
        const blob = await newBlob();
        await states[state](leasesOf(blob));
        for (const [i, [who, conditions]] of ids.entries()) {
          await check(call, blob, conditions, readRules[state][i], `${what} with ${who}`);
        }
      });
    }
  });
}

test('a write after a break makes the blob available', async () => {
  const blob = await newBlob();
  await states.broken(leasesOf(blob));
  await azure.write(blob, 'new');
  await expectState(blob, 'available');
});

test('a write with the id keeps the lease', async () => {
  const blob = await newBlob();
  await states.leased(leasesOf(blob));
  await azure.write(blob, 'new', { conditions: { leaseId: A } });
  await expectState(blob, 'leased');
  await leasesOf(blob)(A).renewLease();
});

test('an id is the same in capitals', async () => {
  const blob = await newBlob();
  await states.leased(leasesOf(blob));
  await azure.write(blob, 'new', { conditions: { leaseId: A.toUpperCase() } });
});

test('deleting with the id ends the lease with the blob', async () => {
  const blob = await newBlob();
  await states.leased(leasesOf(blob));
  await blob.delete({ conditions: { leaseId: A } });
  await azure.write(blob, 'a new one');
  await expectState(blob, 'available');
});

describe('a blob whose lease has expired', () => {
  const expired = {};
  const names = [...Object.keys(writes), ...Object.keys(reads), 'renewed after a write'];
  before(async () => {
    for (const name of names) {
      expired[name] = await newBlob();
      await states.expired(leasesOf(expired[name]));
    }
    await expiry();
  });
  for (const [what, call] of Object.entries({ ...reads, ...writes })) {
    const rules = (reads[what] ? readRules : writeRules).expired;
    test(what, async () => {
      for (const [i, [who, conditions]] of ids.entries()) await check(call, expired[what], conditions, rules[i], `${what} with ${who}`);
    });
  }
  test('is not renewed once somebody wrote', async () => {
    const blob = expired['renewed after a write'];
    await azure.write(blob, 'by somebody else');
    await expectState(blob, 'available');
    await refused(leasesOf(blob)(A).renewLease(), 409, 'LeaseIdMismatchWithLeaseOperation');
  });
});
