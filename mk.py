import numpy as np, scipy.sparse as sp
A=np.diag([1.,1,2,3,3]);sp.save_npz('a.npz',sp.csr_matrix(A))
