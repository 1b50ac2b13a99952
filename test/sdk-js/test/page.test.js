// Page blobs.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A } from '../lib/leases.js';

const page = 512;
let container;
before(async () => {
  container = await azure.newContainer();
});

async function newDisk(pages = 4, options) {
  const disk = container.getPageBlobClient(azure.uniqueName('disk'));
  await disk.create(pages * page, options);
  return disk;
}

const filled = (letter, pages = 1) => letter.repeat(pages * page);
const write = (disk, letter, at, pages = 1, options) => disk.uploadPages(filled(letter, pages), at * page, pages * page, options);
const zeros = (pages) => '\0'.repeat(pages * page);
/** Ranges in pages. The SDK's count is the last byte less the first: one short. */
const ranges = (answer) => answer.pageRange.map((r) => [r.offset / page, (r.count + 1) / page]);

test('a new one is zeros', async () => {
  const disk = await newDisk(2);
  assert.equal(await azure.read(disk), zeros(2));
  const { blobType, contentLength } = await disk.getProperties();
  assert.deepEqual({ blobType, contentLength }, { blobType: 'PageBlob', contentLength: 2 * page });
  assert.deepEqual(ranges(await disk.getPageRanges()), []);
});

test('pages are written, read and cleared', async () => {
  const disk = await newDisk(6);
  await write(disk, 'a', 1, 2);
  await write(disk, 'b', 4);
  assert.equal(await azure.read(disk), zeros(1) + filled('a', 2) + zeros(1) + filled('b') + zeros(1));
  assert.deepEqual(ranges(await disk.getPageRanges()), [[1, 2], [4, 1]]);
  await write(disk, 'c', 2);
  await disk.clearPages(page, page);
  assert.deepEqual(ranges(await disk.getPageRanges()), [[2, 1], [4, 1]]);
  assert.equal(await azure.read(disk, page, 2 * page), zeros(1) + filled('c'));
  assert.deepEqual(ranges(await disk.getPageRanges(3 * page, 2 * page)), [[4, 1]]);
});

test('pages have edges and an end', async () => {
  const disk = await newDisk(2);
  await assert.rejects(disk.uploadPages('x'.repeat(page), 100, page), (e) => [400, 416].includes(e.statusCode), 'not at an edge');
  await assert.rejects(write(disk, 'x', 2), { statusCode: 416 }, 'beyond the end');
  await refused(container.getPageBlobClient('odd').create(1000), 400, 'InvalidHeaderValue', 'not a whole number of pages');
  assert.equal(await azure.read(disk), zeros(2));
});

test('it grows and shrinks', async () => {
  const disk = await newDisk(2);
  await write(disk, 'a', 1);
  await disk.resize(4 * page);
  assert.equal(await azure.read(disk), zeros(1) + filled('a') + zeros(2));
  await disk.resize(page);
  assert.equal(await azure.read(disk), zeros(1));
  await disk.resize(2 * page);
  assert.equal(await azure.read(disk), zeros(2), 'what was cut off came back');
});

test('a snapshot keeps its pages', async () => {
  const disk = await newDisk(4);
  await write(disk, 'a', 0, 2);
  const { snapshot } = await disk.createSnapshot();
  await write(disk, 'b', 1);
  await write(disk, 'c', 3);
  assert.equal(await azure.read(disk.withSnapshot(snapshot)), filled('a', 2) + zeros(2));
  assert.deepEqual(ranges(await disk.withSnapshot(snapshot).getPageRanges()), [[0, 2]]);
  assert.equal(await azure.read(disk), filled('a') + filled('b') + zeros(1) + filled('c'));
});

test('sequence numbers are conditions', async () => {
  const disk = await newDisk(1, { blobSequenceNumber: 5 });
  assert.equal((await disk.getProperties()).blobSequenceNumber, 5);
  await refused(write(disk, 'x', 0, 1, { conditions: { ifSequenceNumberEqualTo: 4 } }), 412, 'SequenceNumberConditionNotMet');
  await write(disk, 'x', 0, 1, { conditions: { ifSequenceNumberLessThanOrEqualTo: 5 } });
  await disk.updateSequenceNumber('increment');
  await disk.updateSequenceNumber('max', 3);
  assert.equal((await disk.getProperties()).blobSequenceNumber, 6);
});

test('a lease guards it', async () => {
  const disk = await newDisk(1);
  await disk.getBlobLeaseClient(A).acquireLease(60);
  await refused(write(disk, 'x', 0), 412, 'LeaseIdMissing');
  await refused(disk.clearPages(0, page), 412, 'LeaseIdMissing');
  await refused(disk.resize(2 * page), 412, 'LeaseIdMissing');
  await write(disk, 'x', 0, 1, { conditions: { leaseId: A } });
});
