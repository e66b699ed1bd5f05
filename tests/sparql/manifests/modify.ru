PREFIX : <urn:x:>
DELETE { ?s :likes ?o } INSERT { ?o :likedBy ?s } WHERE { ?s :likes ?o }
