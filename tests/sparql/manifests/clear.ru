PREFIX : <urn:x:>
CLEAR ALL
