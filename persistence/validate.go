package persistence

import "fmt"

// The Validate functions are the one place that knows the limits of requests.
// Every store calls them before it does anything; all their errors wrap ErrInvalid.

// Validate reports whether the append keeps to the contract.
func (a Append) Validate() error {
	if err := ValidateStream(a.Stream); err != nil {
		return err
	}
	switch n := len(a.Records); {
	case n == 0:
		return invalid("Append.Records is empty, at least 1 record is needed")
	case n > MaxAppendRecords:
		return invalid("Append.Records has %d records, limit MaxAppendRecords = %d", n, MaxAppendRecords)
	}
	if a.Wake < Never {
		return invalid("Append.Wake is %d, limit 0 (Never)", a.Wake)
	}
	total := 0
	for i, r := range a.Records {
		if r.Class > Streamed {
			return invalid("Append.Records[%d].Class is %d, limit %d (Streamed)", i, r.Class, Streamed)
		}
		if len(r.Data) > MaxRecordBytes {
			return invalid("Append.Records[%d].Data has %d bytes, limit MaxRecordBytes = %d", i, len(r.Data), MaxRecordBytes)
		}
		total += len(r.Data)
	}
	for i, b := range a.Blobs {
		if len(b.Key) == 0 {
			return invalid("Append.Blobs[%d].Key is empty", i)
		}
		if len(b.Key) > MaxBlobKey {
			return invalid("Append.Blobs[%d].Key has %d bytes, limit MaxBlobKey = %d", i, len(b.Key), MaxBlobKey)
		}
		total += len(b.Data)
	}
	if total > MaxAppendBytes {
		return invalid("Append.Records and Append.Blobs have %d bytes, limit MaxAppendBytes = %d", total, MaxAppendBytes)
	}
	return nil
}

// ValidateStream reports whether name can name a stream.
func ValidateStream(name string) error {
	if name == "" {
		return invalid("stream name is empty")
	}
	if len(name) > MaxStreamName {
		return invalid("stream name has %d bytes, limit MaxStreamName = %d", len(name), MaxStreamName)
	}
	return nil
}

// ValidateRebase reports whether Rebase may be called so.
func ValidateRebase(stream string, upto uint64, base []byte) error {
	if err := ValidateStream(stream); err != nil {
		return err
	}
	if upto == 0 {
		return invalid("upto is 0, the first record is 1")
	}
	if len(base) > MaxRecordBytes {
		return invalid("base has %d bytes, limit MaxRecordBytes = %d", len(base), MaxRecordBytes)
	}
	return nil
}

// ValidateSnapshot reports whether SaveSnapshot may be called so on a stream of that head.
func ValidateSnapshot(s Snapshot, head uint64) error {
	if s.Seq > head {
		return invalid("Snapshot.Seq is %d, limit %d (the stream's head)", s.Seq, head)
	}
	if len(s.Data) > MaxAppendBytes {
		return invalid("Snapshot.Data has %d bytes, limit MaxAppendBytes = %d", len(s.Data), MaxAppendBytes)
	}
	return nil
}

// ValidateList reports whether List may be called so.
func ValidateList(limit int) error {
	if limit < 1 {
		return invalid("limit is %d, at least 1 is needed", limit)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}
