package content

import (
	"encoding/binary"
	"hash/crc64"
)

// polynomial of CRC-64/NVME, which Azure calls CRC64, in the reflected form.
const polynomial = 0x9A6C9329AC4BC9B5

// crcTables lets UpdateCRC take eight bytes at a step: table k has the effect of
// a byte that k more bytes follow. hash/crc64 keeps such tables for its own two
// polynomials only; for any other it builds them anew in every call, or goes
// byte by byte.
var crcTables = makeCRCTables()

func makeCRCTables() *[8]crc64.Table {
	var t [8]crc64.Table
	t[0] = *crc64.MakeTable(polynomial)
	for i := range t[0] {
		for k := 1; k < len(t); k++ {
			before := t[k-1][i]
			t[k][i] = t[0][byte(before)] ^ before>>8
		}
	}
	return &t
}

// UpdateCRC returns Azure's CRC64 of all the bytes so far, of which crc is the
// one of those before p. It begins with 0.
func UpdateCRC(crc uint64, p []byte) uint64 {
	t := crcTables
	crc = ^crc
	for len(p) >= 8 {
		crc ^= binary.LittleEndian.Uint64(p)
		crc = t[7][byte(crc)] ^ t[6][byte(crc>>8)] ^ t[5][byte(crc>>16)] ^ t[4][byte(crc>>24)] ^
			t[3][byte(crc>>32)] ^ t[2][byte(crc>>40)] ^ t[1][byte(crc>>48)] ^ t[0][byte(crc>>56)]
		p = p[8:]
	}
	for _, b := range p {
		crc = t[0][byte(crc)^b] ^ crc>>8
	}
	return ^crc
}
